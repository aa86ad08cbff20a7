# The server, with the embedder's weights. It needs a PostgreSQL with pgvector: see compose.yaml and docs/deploy.md.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv ca-certificates \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/sourcebound
WORKDIR /build
COPY requirements/runtime.lock requirements/embedder.lock requirements/
RUN /opt/sourcebound/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/runtime.lock \
    && /opt/sourcebound/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/embedder.lock
COPY . .
RUN /opt/sourcebound/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM ${BASE}
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --home-dir /var/lib/sourcebound sourcebound
COPY --from=build /opt/sourcebound /opt/sourcebound
ENV PATH=/opt/sourcebound/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SOURCEBOUND_HOME=/var/lib/sourcebound \
    SOURCEBOUND_LOG_FORMAT=json
USER sourcebound
WORKDIR /var/lib/sourcebound
VOLUME /var/lib/sourcebound
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
ENTRYPOINT ["sourcebound"]
CMD ["serve", "--host", "0.0.0.0", "--workers", "2"]
