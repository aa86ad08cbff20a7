"""An engine over the example manuals for tests of its parts, in both forms, and a model that follows a script."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import ReplayStatus, RunReport
from sourcebound.graph.engine import Engine
from sourcebound.graph.integrations.sync_engine import SyncEngine
from sourcebound.graph.replay.history import read_run
from sourcebound.graph.replay.verify import verify
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import open_services
from support.processes.databases import settings_for

QUESTION = "What oil charge does the bearing frame of the HP-200 take in revision C?"
ANSWER = "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C. [C0]"
OFF_TOPIC = "Who won the chess championship of 1972 in Reykjavik?"
STAGES = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]


class ScriptedChatModel(BaseChatModel):
    """A chat model that gives the messages of a script, one after the other."""

    script: list[AIMessage]
    received: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> "ScriptedChatModel":
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        self.received.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.script[len(self.received) - 1])])


@asynccontextmanager
async def open_engine(database: str, minilm: MiniLmEmbedder) -> AsyncIterator[Engine]:
    """Open an engine with an embedder that is loaded already."""
    async with open_services(settings_for(database)) as services:
        services._embedders["minilm"] = minilm
        yield Engine(services)


@contextmanager
def open_sync_engine(database: str, minilm: MiniLmEmbedder) -> Iterator[SyncEngine]:
    """Open a synchronous engine with an embedder that is loaded already."""
    with SyncEngine(settings_for(database)) as engine:
        engine._engine._services._embedders["minilm"] = minilm
        yield engine


async def replay_status(engine: Engine, run_id: str) -> ReplayStatus:
    """Compute a recorded run again, and return the verdict."""
    (summary,) = await engine._services.run_log.find_runs(run_id)
    report = await verify(await read_run(PostgresHistory(engine._services.pool), summary), load_shipped_release())
    assert isinstance(report, RunReport)
    return report.verdict
