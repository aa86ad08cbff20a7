"""Benchmark the whole graph, every node checkpointed and audited, against a plain LangGraph RAG of nine nodes.

    python benchmarks/pipeline.py [--count 10000] [--rounds 10]

Each side retrieves twelve of the same passages from the same database server, sends six of them to the same model
server, which answers immediately, and writes one audit row. The benchmark therefore times the machinery. Our side uses
hybrid retrieval, validation and a hash chain. The plain graph follows the documentation of LangGraph: all runs share,
and wait for, one AsyncPostgresSaver with default settings, and its state has the passages as retrieved, as graded and
as selected. It retrieves with one query of an HNSW index and calls the model through LangChain's `ChatOpenAI`. Our
model makes a direct HTTP call, so a third side, "by hand", is the plain graph with that call: only the machinery
differs. The bars apply to "plain". Blocks of all sides are interleaved in one run, and each side comes first in turn.
Ratios are comparable between machines, times are not.
"""

import argparse
import asyncio
import json
import os
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import httpx
import numpy as np
import psycopg
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr
from synthetic import (
    DIMENSIONS,
    WORDS,
    Corpus,
    InstantModels,
    ModelClient,
    PrecomputedEmbedder,
    Stopwatch,
    TimedRetriever,
    make_corpus,
    make_document,
    model_server,
)
from typing_extensions import TypedDict
from writes import Writes, measure_writes

from sourcebound.evals.retrieval import temporary_services
from sourcebound.graph.engine import Engine
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.store.search.vector_codec import vector_text
from sourcebound.wiring import Services

COLLECTION: Final = "passages"
CHUNKS_A_DOCUMENT: Final = 2
DOCUMENTS_A_BATCH: Final = 250
TOP_K: Final = 12
SHOWN: Final = 6
SIDES: Final = ("ours", "plain", "by hand")
CLIENTS: Final = 16
WARM_UP: Final = 32
SINGLE: Final = 60
MANY: Final = 160
STORED: Final = 100
BARS: Final = {"p50": 0.6, "throughput": 2.0, "kilobytes": 60.0}
Ask = Callable[[str], Awaitable[None]]
Samples = Mapping[str, list[float]]
Times = Mapping[str, list[tuple[float, float]]]


class Side(NamedTuple):
    """One side of the comparison."""

    ask: Ask
    stopwatch: Stopwatch


async def fill(services: Services, corpus: Corpus) -> None:
    """Store the passages in the product's index."""
    index = services.index
    collection = await index.create_collection(
        COLLECTION, "minilm", MiniLmEmbedder().name, DIMENSIONS, "whole", "english"
    )
    batch = CHUNKS_A_DOCUMENT * DOCUMENTS_A_BATCH
    for start in range(0, len(corpus.texts), batch):
        documents = [
            make_document(corpus, slice(first, first + CHUNKS_A_DOCUMENT))
            for first in range(start, min(start + batch, len(corpus.texts)), CHUNKS_A_DOCUMENT)
        ]
        await index.replace_documents(collection.collection_id, documents)
    await index.vectors.ensure_index(await index.open_collection(COLLECTION))


class PlainState(TypedDict, total=False):
    """The state of the plain graph, with the passages as retrieved, as graded and as selected."""

    question: str
    request_id: str
    query: str
    documents: list[dict[str, Any]]
    relevant: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    messages: list[dict[str, str]]
    answer: dict[str, Any]
    cited: list[str]
    recorded: bool


PLAIN_TABLES: Final = (
    "CREATE EXTENSION vector",
    "CREATE TABLE passages (id bigint PRIMARY KEY, text text NOT NULL, embedding vector(384) NOT NULL)",
    "CREATE TABLE audit (id bigserial PRIMARY KEY, at timestamptz DEFAULT now(), request_id text, status text, "
    "model text, citations text[], prompt_tokens integer)",
)
NO_CHECKPOINTS: Final = (
    "ALTER SYSTEM SET checkpoint_timeout = '1h'",
    "ALTER SYSTEM SET max_wal_size = '16GB'",
    "SELECT pg_reload_conf()",
)
"""After a checkpoint the WAL has full pages, so the side in turn would seem to write four times as much."""
PLAIN_SEARCH: Final = """
SELECT id, text, 1 - (embedding <=> %(vector)s::vector) AS score
FROM passages ORDER BY embedding <=> %(vector)s::vector LIMIT %(limit)s
"""
PLAIN_INSERT: Final = "INSERT INTO audit (request_id, status, model, citations) VALUES (%s, %s, %s, %s)"
RULES: Final = (
    "Answer from the sources alone, and cite them as [C0]. Say that you do not know where they do not say it."
)
CITED: Final = re.compile(r"\[(C\d+)\]")
PlainPool = AsyncConnectionPool[psycopg.AsyncConnection[dict[str, Any]]]


class PlainNodes(NamedTuple):
    """Nine small nodes."""

    pool: PlainPool
    server: ModelClient
    corpus: Corpus
    stopwatch: Stopwatch
    chat: ChatOpenAI | None = None

    async def accept(self, state: PlainState) -> PlainState:
        """Create an id."""
        return {"request_id": f"{random.getrandbits(128):032x}"}

    async def rewrite(self, state: PlainState) -> PlainState:
        """Normalize the question to a query."""
        return {"query": " ".join(state["question"].split())}

    async def retrieve(self, state: PlainState) -> PlainState:
        """Retrieve the nearest passages."""
        values = {"vector": vector_text(self.corpus.questions[state["query"]]), "limit": TOP_K}
        with self.stopwatch.running():
            async with self.pool.connection() as connection:
                return {"documents": await (await connection.execute(PLAIN_SEARCH, values)).fetchall()}

    async def grade(self, state: PlainState) -> PlainState:
        """Grade the passages; all are relevant."""
        return {"relevant": [document for document in state["documents"] if document["score"] > -1]}

    async def select(self, state: PlainState) -> PlainState:
        """Select the passages of the prompt."""
        return {"evidence": state["relevant"][:SHOWN]}

    async def prompt(self, state: PlainState) -> PlainState:
        """Build the messages."""
        sources = "\n\n".join(f"[C{n}]\n{document['text']}" for n, document in enumerate(state["evidence"]))
        user = f"{sources}\n\nQuestion: {state['question']}"
        return {"messages": [{"role": "system", "content": RULES}, {"role": "user", "content": user}]}

    async def generate(self, state: PlainState) -> PlainState:
        """Call the model once."""
        if self.chat:
            text = str((await self.chat.ainvoke(state["messages"])).content)
        else:
            text = await self.server.answer(json.dumps(state["messages"]).encode())
        return {"answer": {"text": text, "model": "m"}}

    async def check(self, state: PlainState) -> PlainState:
        """Find the citations."""
        return {"cited": CITED.findall(state["answer"]["text"])}

    async def record(self, state: PlainState) -> PlainState:
        """Write the audit row."""
        row = (state["request_id"], "OK" if state["cited"] else "FAILED", state["answer"]["model"], state["cited"])
        async with self.pool.connection() as connection:
            await connection.execute(PLAIN_INSERT, row)
        return {"recorded": True}


NODES: Final = ("accept", "rewrite", "retrieve", "grade", "select", "prompt", "generate", "check", "record")


def plain_graph(nodes: PlainNodes) -> Any:
    """Chain the nine nodes, with the saver at its default settings."""
    graph = StateGraph(PlainState)
    for name in NODES:
        graph.add_node(name, getattr(nodes, name))
    for before, after in pairwise([START, *NODES, END]):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=AsyncPostgresSaver(nodes.pool))


@asynccontextmanager
async def plain_side(
    url: str, server: ModelClient, corpus: Corpus, chat: ChatOpenAI | None = None
) -> AsyncIterator[Side]:
    """Open the plain graph with its own pool, as in the documentation of its saver."""
    async with AsyncConnectionPool(
        url,
        max_size=CLIENTS,
        open=False,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    ) as pool:
        await AsyncPostgresSaver(pool).setup()
        stopwatch, numbers = Stopwatch(), iter(range(10**9))
        graph = plain_graph(PlainNodes(pool, server, corpus, stopwatch, chat))

        async def ask(question: str) -> None:
            thread = {"configurable": {"thread_id": f"{next(numbers)}-{random.getrandbits(64):016x}"}}
            state = await graph.ainvoke({"question": question}, thread)
            assert state["recorded"]
            assert state["cited"] == ["C0"]

        yield Side(ask, stopwatch)


def fill_plain(url: str, corpus: Corpus) -> None:
    """Store the passages with an index on their vectors."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in PLAIN_TABLES:
            connection.execute(statement)
        with connection.cursor() as cursor, cursor.copy("COPY passages FROM STDIN") as copy:
            for number, text in enumerate(corpus.texts):
                copy.write_row((number, text, vector_text(corpus.vectors[number].tolist())))
        connection.execute("CREATE INDEX ON passages USING hnsw (embedding vector_cosine_ops)")
        connection.execute("ANALYZE")


def own_side(services: Services, server: ModelClient, corpus: Corpus) -> Side:
    """Build the complete product, except the model and the embedder."""
    services._embedders["minilm"] = PrecomputedEmbedder(corpus.questions)
    services.models = InstantModels(server)  # type: ignore[assignment]
    stopwatch = Stopwatch()
    retriever = PostgresRetriever(services.pool, services.open_embedder, services.open_reranker)
    services.retriever = TimedRetriever(retriever, stopwatch)  # type: ignore[assignment]
    engine, evidence_counts = Engine(services), list[int]()

    async def ask(question: str) -> None:
        limits = {"max_chunks": SHOWN}
        response = await engine.ask({"question": question, "collection": COLLECTION, "limits": limits})
        assert response.status == "OK", response
        assert [citation.anchor for citation in response.citations] == ["C0"]
        if not evidence_counts:
            state = await engine.state(response.run_id)
            evidence_counts.append(len(state["assembly"]["selected_evidence"]))
            assert evidence_counts[-1] == SHOWN, evidence_counts

    return Side(ask, stopwatch)


async def time_one_client(side: Side, questions: Sequence[str]) -> list[tuple[float, float]]:
    """Return the milliseconds of each request, made one after the other, and of its retrieval."""
    times = []
    for question in questions:
        started = perf_counter()
        await side.ask(question)
        times.append((1000 * (perf_counter() - started), side.stopwatch.latest))
    return times


async def time_many_clients(ask: Ask, questions: Sequence[str]) -> float:
    """Return the requests per second of sixteen clients."""
    pending = iter(questions)

    async def client() -> None:
        for question in pending:
            await ask(question)

    started = perf_counter()
    await asyncio.gather(*[client() for _ in range(CLIENTS)])
    return len(questions) / (perf_counter() - started)


@asynccontextmanager
async def open_server() -> AsyncIterator[ModelClient]:
    """Run the model server and open connections to it."""
    limits = httpx.Limits(max_connections=CLIENTS)
    with model_server() as url:
        async with httpx.AsyncClient(base_url=url, limits=limits) as client:
            yield ModelClient(client)


def _print_line(name: str, values: Mapping[str, float], unit: str = "", bar: str = "") -> None:
    own, others = values["ours"], [values[side] for side in SIDES[1:]]
    columns = "".join(f"{value:9.1f} {own / value if value else 0:6.2f} ×" for value in others)
    print(f"  {name:42} {own:9.1f}{columns} {unit:4} {bar}")


def _print_report(times: Times, speeds: Samples, work: Samples, writes: Mapping[str, Writes]) -> None:
    print(f"  {'':42} {'ours':>9}" + "".join(f"{side:>9} {'':8}" for side in SIDES[1:]))
    for share in (50, 90):
        milliseconds = {side: float(np.percentile([whole for whole, _ in times[side]], share)) for side in SIDES}
        _print_line(f"p{share}, one client", milliseconds, "ms", f"at most {BARS['p50']} ×" if share == 50 else "")
    alone = {side: median(whole - milliseconds for whole, milliseconds in times[side]) for side in SIDES}
    _print_line("p50 without retrieval, one client", alone, "ms")
    _print_line("processor time of the client, one client", {side: median(work[side]) for side in SIDES}, "ms")
    rates = {side: median(speeds[side]) for side in SIDES}
    _print_line(f"requests a second, {CLIENTS} clients", rates, bar=f"at least {BARS['throughput']} ×")
    of_tables = {side: costs.table_kilobytes for side, costs in writes.items()}
    _print_line("tables and indexes a request", of_tables, "kB", f"at most {BARS['kilobytes']:.0f} kB")
    _print_line("WAL a request", {side: costs.wal_kilobytes for side, costs in writes.items()}, "kB")
    _print_line("rows a request", {side: sum(costs.rows.values()) for side, costs in writes.items()})
    _print_line("transactions a request, with reads", {side: each.transactions for side, each in writes.items()})
    _print_line("flushes of the WAL a request", {side: costs.flushes for side, costs in writes.items()})
    for side, costs in writes.items():
        print(f"  rows, {side}: " + ", ".join(f"{name} {rows:.1f}" for name, rows in sorted(costs.rows.items())))


def _format_load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg()) + f" on {os.cpu_count()} cores"


async def _main(count: int, rounds: int) -> None:
    corpus = await asyncio.to_thread(make_corpus, count)
    questions = list(corpus.questions)
    async with temporary_services() as services, open_server() as server:
        started = perf_counter()
        url = str(services.pool.conninfo)
        async with services.pool.connection() as connection:
            await connection.execute("CREATE DATABASE plain")
            for statement in NO_CHECKPOINTS:
                await connection.execute(statement)
        plain_url = urlsplit(url)._replace(path="/plain").geturl()
        await fill(services, corpus)
        await asyncio.to_thread(fill_plain, plain_url, corpus)
        print(f"{count} passages of {WORDS} words, stored in {perf_counter() - started:.0f} s; load {_format_load()}")
        chat = ChatOpenAI(model="m", base_url=server.url, api_key=SecretStr("none"), max_retries=0)
        async with (
            plain_side(plain_url, server, corpus, chat) as plain,
            plain_side(plain_url, server, corpus) as by_hand,
        ):
            sides = {"ours": own_side(services, server, corpus), "plain": plain, "by hand": by_hand}
            times: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
            speeds: dict[str, list[float]] = {side: [] for side in sides}
            work: dict[str, list[float]] = {side: [] for side in sides}
            for each in sides.values():
                await time_many_clients(each.ask, questions[:WARM_UP])
            for number in range(rounds):
                for place in range(len(SIDES)):
                    side = SIDES[(place + number) % len(SIDES)]
                    each = sides[side]
                    shift = number * 31 % len(questions)
                    rotated = questions[shift:] + questions[:shift]
                    cpu_started = process_time()
                    times[side] += await time_one_client(each, rotated[:SINGLE])
                    work[side].append(1000 * (process_time() - cpu_started) / SINGLE)
                    speeds[side].append(await time_many_clients(each.ask, rotated[-MANY:]))
                latest = [
                    f"{side} {median(whole for whole, _ in times[side][-SINGLE:]):.1f} ms {speeds[side][-1]:.0f}/s"
                    for side in sides
                ]
                print(f"  round {number + 1}: {', '.join(latest)}; load {_format_load()}", flush=True)
            urls = {"ours": url, "plain": plain_url, "by hand": plain_url}
            writes = {
                side: await measure_writes(urls[side], each.ask, questions[:STORED]) for side, each in sides.items()
            }
        _print_report(times, speeds, work, writes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Benchmark the whole graph against a plain one.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    asyncio.run(_main(options.count, options.rounds))
