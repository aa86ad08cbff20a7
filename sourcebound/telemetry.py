"""The log and the traces of a process of ours (§12): the command line and the server configure them, a library never.

The log goes to stderr, as text or as one JSON object a line. Spans go to an OpenTelemetry collector if the standard
variables name one (`OTEL_EXPORTER_OTLP_ENDPOINT`) and the extra `tracing` is installed.
"""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Final

from sourcebound.settings import Settings

COLLECTOR: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PLAIN_RECORD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
"""The attributes of a record that are no fields."""
logger: Final = logging.getLogger("sourcebound.telemetry")


class TextFormatter(logging.Formatter):
    """Formats a record as its message and, on the same line, its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; only a traceback follows on further lines."""
        shown = (f"{name}={value}" for name, value in _fields(record).items() if value is not None)
        line, *rest = super().format(record).split("\n", 1)
        return "\n".join((" ".join((line, *shown)), *rest))


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: time, level, logger, message, its fields, and the traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        values: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return json.dumps(values, ensure_ascii=False, default=str)


def configure_telemetry(settings: Settings, default_level: str = "warning") -> None:
    """Configure the log of this process, and its traces if the environment names a collector. Later calls do nothing.

    Args:
        settings: The format of the log and the level of our own records; those of libraries begin at warnings.
        default_level: The level if the settings name none.
    """
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    root.addHandler(handler)
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # a lost connection is part of an error, or recovered from
    logging.getLogger("sourcebound").setLevel((settings.log_level or default_level).upper())
    if any(os.environ.get(name) for name in COLLECTOR):
        _configure_traces()


def flush_traces() -> None:
    """Send the spans that wait. The end of an interpreter does it too, but not that of a process ended by a signal."""
    if any(os.environ.get(name) for name in COLLECTOR):
        from opentelemetry import trace

        flush = getattr(trace.get_tracer_provider(), "force_flush", None)  # the provider of the API has none
        if flush:
            flush()


def _configure_traces() -> None:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        logger.warning("no spans are sent: install the exporter with pip install 'sourcebound[tracing]'.")
        return
    from opentelemetry import trace

    name = os.environ.get("OTEL_SERVICE_NAME", "sourcebound")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in PLAIN_RECORD}
