"""What the whole graph costs, every node checkpointed and audited, beside a plain LangGraph RAG of nine nodes.

    python benchmarks/pipeline.py [--count 10000] [--rounds 10]

All retrieve twelve of the same passages from the same server, send six of them to the same model server, which answers
at once, and write one audit row: what is timed is the machinery. Ours does it with hybrid retrieval, validation and a
hash chain. The plain graph is as the documentation of LangGraph has it: an AsyncPostgresSaver at its defaults, one for
all runs, which take turns with it; the passages are in its state as they were found, graded and chosen. Its retrieval
is one query of an HNSW index, and it asks the model through LangChain's `ChatOpenAI`. Our side has a model of its own
here, which makes one HTTP call by hand; a third side, "by hand", is the plain graph with that call, so that nothing but
the machinery differs. The bars are held against "plain". Blocks of all are interleaved in one run, and take turns in
coming first. Ratios travel between machines, milliseconds do not.
"""

import argparse
import asyncio
import json
import os
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
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
from synthetic import DIMENSIONS, WORDS, Corpus, InstantModels, Ready, Server, make_corpus, make_document, model_server
from typing_extensions import TypedDict
from writes import Written, measure_writes

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
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


class Watch:
    """Keeps how long the latest retrieval took, in milliseconds."""

    latest = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Takes the time of a block."""
        began = perf_counter()
        yield
        self.latest = 1000 * (perf_counter() - began)


class Side(NamedTuple):
    """One of them."""

    ask: Ask
    watch: Watch


class Watched:
    """The product's retriever, timed."""

    def __init__(self, retriever: PostgresRetriever, watch: Watch) -> None:
        self._retriever, self._watch = retriever, watch

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """What it brings."""
        with self._watch.running():
            return await self._retriever.retrieve(run, policy)


async def fill(services: Services, corpus: Corpus) -> None:
    """Stores the passages in the product's index."""
    index = services.index
    made = await index.create_collection(COLLECTION, "minilm", MiniLmEmbedder().name, DIMENSIONS, "whole", "english")
    batch = CHUNKS_A_DOCUMENT * DOCUMENTS_A_BATCH
    for start in range(0, len(corpus.texts), batch):
        documents = [
            make_document(corpus, slice(first, first + CHUNKS_A_DOCUMENT))
            for first in range(start, min(start + batch, len(corpus.texts)), CHUNKS_A_DOCUMENT)
        ]
        await index.replace_documents(made.collection_id, documents)
    await index.vectors.tend(await index.open_collection(COLLECTION))


class PlainState(TypedDict, total=False):
    """The state of the plain graph: the passages stand in it as they were found, graded and chosen."""

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
"""After one, pages are in the WAL whole, and whose turn it is then would seem to write four times as much."""
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
    """Nine nodes, each of which does a little."""

    pool: PlainPool
    server: Server
    corpus: Corpus
    watch: Watch
    chat: ChatOpenAI | None = None

    async def accept(self, state: PlainState) -> PlainState:
        """A new id."""
        return {"request_id": f"{random.getrandbits(128):032x}"}

    async def rewrite(self, state: PlainState) -> PlainState:
        """The query: the question, tidied."""
        return {"query": " ".join(state["question"].split())}

    async def retrieve(self, state: PlainState) -> PlainState:
        """The nearest passages."""
        values = {"vector": vector_text(self.corpus.questions[state["query"]]), "limit": TOP_K}
        with self.watch.running():
            async with self.pool.connection() as connection:
                return {"documents": await (await connection.execute(PLAIN_SEARCH, values)).fetchall()}

    async def grade(self, state: PlainState) -> PlainState:
        """Those that are relevant: all of them."""
        return {"relevant": [document for document in state["documents"] if document["score"] > -1]}

    async def select(self, state: PlainState) -> PlainState:
        """Those that are shown."""
        return {"evidence": state["relevant"][:SHOWN]}

    async def prompt(self, state: PlainState) -> PlainState:
        """The messages."""
        sources = "\n\n".join(f"[C{n}]\n{document['text']}" for n, document in enumerate(state["evidence"]))
        user = f"{sources}\n\nQuestion: {state['question']}"
        return {"messages": [{"role": "system", "content": RULES}, {"role": "user", "content": user}]}

    async def generate(self, state: PlainState) -> PlainState:
        """One call."""
        if self.chat:
            text = str((await self.chat.ainvoke(state["messages"])).content)
        else:
            text = await self.server.answer(json.dumps(state["messages"]).encode())
        return {"answer": {"text": text, "model": "m"}}

    async def check(self, state: PlainState) -> PlainState:
        """The citations."""
        return {"cited": CITED.findall(state["answer"]["text"])}

    async def record(self, state: PlainState) -> PlainState:
        """The audit row."""
        row = (state["request_id"], "OK" if state["cited"] else "FAILED", state["answer"]["model"], state["cited"])
        async with self.pool.connection() as connection:
            await connection.execute(PLAIN_INSERT, row)
        return {"recorded": True}


NODES: Final = ("accept", "rewrite", "retrieve", "grade", "select", "prompt", "generate", "check", "record")


def plain_graph(nodes: PlainNodes) -> Any:
    """The nine nodes in a row, with the saver at its defaults."""
    graph = StateGraph(PlainState)
    for name in NODES:
        graph.add_node(name, getattr(nodes, name))
    for before, after in pairwise([START, *NODES, END]):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=AsyncPostgresSaver(nodes.pool))


@asynccontextmanager
async def plain_side(url: str, server: Server, corpus: Corpus, chat: ChatOpenAI | None = None) -> AsyncIterator[Side]:
    """The plain graph, with a pool of its own as the documentation of its saver has it."""
    async with AsyncConnectionPool(
        url,
        max_size=CLIENTS,
        open=False,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    ) as pool:
        await AsyncPostgresSaver(pool).setup()
        watch, numbers = Watch(), iter(range(10**9))
        graph = plain_graph(PlainNodes(pool, server, corpus, watch, chat))

        async def ask(question: str) -> None:
            thread = {"configurable": {"thread_id": f"{next(numbers)}-{random.getrandbits(64):016x}"}}
            state = await graph.ainvoke({"question": question}, thread)
            assert state["recorded"]
            assert state["cited"] == ["C0"]

        yield Side(ask, watch)


def fill_plain(url: str, corpus: Corpus) -> None:
    """Stores the passages as they are, with an index over their vectors."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in PLAIN_TABLES:
            connection.execute(statement)
        with connection.cursor() as cursor, cursor.copy("COPY passages FROM STDIN") as copy:
            for number, text in enumerate(corpus.texts):
                copy.write_row((number, text, vector_text(corpus.vectors[number].tolist())))
        connection.execute("CREATE INDEX ON passages USING hnsw (embedding vector_cosine_ops)")
        connection.execute("ANALYZE")


def own_side(services: Services, server: Server, corpus: Corpus) -> Side:
    """The product, whole, but for the model and the embedder."""
    services._embedders["minilm"] = Ready(corpus.questions)
    services.models = InstantModels(server)  # type: ignore[assignment]
    watch = Watch()
    retriever = PostgresRetriever(services.pool, services.open_embedder)
    services.retriever = Watched(retriever, watch)  # type: ignore[assignment]
    engine, shown = Engine(services), list[int]()

    async def ask(question: str) -> None:
        response = await engine.ask({"question": question, "collection": COLLECTION})
        assert response.status == "OK", response
        assert [citation.anchor for citation in response.citations] == ["C0"]
        if not shown:
            state = await engine.state(response.run_id)
            shown.append(len(state["assembly"]["selected_evidence"]))
            assert shown[-1] == SHOWN, shown

    return Side(ask, watch)


async def time_one_client(side: Side, questions: Sequence[str]) -> list[tuple[float, float]]:
    """Milliseconds of each request, one after the other; and those of them that were retrieval."""
    times = []
    for question in questions:
        began = perf_counter()
        await side.ask(question)
        times.append((1000 * (perf_counter() - began), side.watch.latest))
    return times


async def time_many_clients(ask: Ask, questions: Sequence[str]) -> float:
    """Requests a second of sixteen clients."""
    left = iter(questions)

    async def client() -> None:
        for question in left:
            await ask(question)

    began = perf_counter()
    await asyncio.gather(*[client() for _ in range(CLIENTS)])
    return len(questions) / (perf_counter() - began)


@asynccontextmanager
async def open_server() -> AsyncIterator[Server]:
    """The model server and connections to it."""
    limits = httpx.Limits(max_connections=CLIENTS)
    with model_server() as url:
        async with httpx.AsyncClient(base_url=url, limits=limits) as client:
            yield Server(client)


def _line(name: str, values: Mapping[str, float], unit: str = "", bar: str = "") -> None:
    own, others = values["ours"], [values[side] for side in SIDES[1:]]
    told = "".join(f"{value:9.1f} {own / value if value else 0:6.2f} ×" for value in others)
    print(f"  {name:42} {own:9.1f}{told} {unit:4} {bar}")


def _report(times: Times, speeds: Samples, work: Samples, writes: Mapping[str, Written]) -> None:
    print(f"  {'':42} {'ours':>9}" + "".join(f"{side:>9} {'':8}" for side in SIDES[1:]))
    for share in (50, 90):
        found = {side: float(np.percentile([whole for whole, _ in times[side]], share)) for side in SIDES}
        _line(f"p{share}, one client", found, "ms", f"at most {BARS['p50']} ×" if share == 50 else "")
    alone = {side: median(whole - found for whole, found in times[side]) for side in SIDES}
    _line("p50 without retrieval, one client", alone, "ms")
    _line("processor time of the client, one client", {side: median(work[side]) for side in SIDES}, "ms")
    rates = {side: median(speeds[side]) for side in SIDES}
    _line(f"requests a second, {CLIENTS} clients", rates, bar=f"at least {BARS['throughput']} ×")
    of_tables = {side: written.table_kilobytes for side, written in writes.items()}
    _line("tables and indexes a request", of_tables, "kB", f"at most {BARS['kilobytes']:.0f} kB")
    _line("WAL a request", {side: written.wal_kilobytes for side, written in writes.items()}, "kB")
    _line("rows a request", {side: sum(written.rows.values()) for side, written in writes.items()})
    _line("transactions a request, reading ones too", {side: each.transactions for side, each in writes.items()})
    _line("flushes of the WAL a request", {side: written.flushes for side, written in writes.items()})
    for side, written in writes.items():
        print(f"  rows, {side}: " + ", ".join(f"{name} {rows:.1f}" for name, rows in sorted(written.rows.items())))


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg()) + f" on {os.cpu_count()} cores"


async def _main(count: int, rounds: int) -> None:
    corpus = await asyncio.to_thread(make_corpus, count)
    questions = list(corpus.questions)
    async with temporary_services() as services, open_server() as server:
        began = perf_counter()
        url = str(services.pool.conninfo)
        async with services.pool.connection() as connection:
            await connection.execute("CREATE DATABASE plain")
            for statement in NO_CHECKPOINTS:
                await connection.execute(statement)
        plain_url = urlsplit(url)._replace(path="/plain").geturl()
        await fill(services, corpus)
        await asyncio.to_thread(fill_plain, plain_url, corpus)
        print(f"{count} passages of {WORDS} words, stored in {perf_counter() - began:.0f} s; load {_load()}")
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
                    turned = questions[shift:] + questions[:shift]
                    spent = process_time()
                    times[side] += await time_one_client(each, turned[:SINGLE])
                    work[side].append(1000 * (process_time() - spent) / SINGLE)
                    speeds[side].append(await time_many_clients(each.ask, turned[-MANY:]))
                latest = [
                    f"{side} {median(whole for whole, _ in times[side][-SINGLE:]):.1f} ms {speeds[side][-1]:.0f}/s"
                    for side in sides
                ]
                print(f"  round {number + 1}: {', '.join(latest)}; load {_load()}", flush=True)
            urls = {"ours": url, "plain": plain_url, "by hand": plain_url}
            writes = {
                side: await measure_writes(urls[side], each.ask, questions[:STORED]) for side, each in sides.items()
            }
        _report(times, speeds, work, writes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The whole graph, beside a plain one.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    asyncio.run(_main(given.count, given.rounds))
