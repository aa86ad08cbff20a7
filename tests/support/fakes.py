"""In-memory fakes of the ports of the graph, which record their calls."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.conversation.turns import Turn
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.execution.generation import Generation, GenerationKey
from sourcebound.contracts.policy.lock import FoundPolicy, ReleaseStatus
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModel, StartPoint
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.state import RunContext, State
from sourcebound.errors import SourceboundError
from sourcebound.graph.workflow import Ports
from support.builders import JsonObject, collection, generation


@dataclass
class FakeCatalog:
    """A catalog of some collections."""

    collections: tuple[Collection, ...] = field(default_factory=lambda: (collection(),))

    async def find_collection(self, name: str) -> Collection | None:
        return next((item for item in self.collections if item.name == name), None)


@dataclass
class FakeRetriever:
    """A retriever that returns one bundle or raises one fault."""

    bundle: JsonObject
    fault: SourceboundError | None = None
    calls: int = 0

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        self.calls += 1
        if self.fault:
            raise self.fault
        return RetrievalBundle.model_validate(self.bundle)


@dataclass
class FakeRunLog:
    """A run log that keeps the runs that began."""

    begun: list[Run] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)

    async def begin(self, run: Run) -> None:
        self.begun.append(run)

    async def find_end(self, run_id: str) -> str | None:
        return self.ended.get(run_id)

    async def end_unfinished(self, thread_id: str, replaced_by: str | None = None) -> None:
        open_runs = {run.run_id for run in self.begun if run.thread_id == thread_id} - self.ended.keys()
        self.ended |= dict.fromkeys(open_runs - {replaced_by}, "REPLACED" if replaced_by else "CANCELLED")


@dataclass
class SavedLineage:
    """The ancestors of checkpoints in a saver of LangGraph."""

    saver: BaseCheckpointSaver[Any] | None = None

    async def find_start(
        self, thread_id: str, checkpoint_id: str, *, wait: bool = False, is_first: bool = False
    ) -> StartPoint:
        sources, is_edited = list[str](), False
        place = {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
        config: RunnableConfig | None = {"configurable": place}
        while self.saver and config and (found := await self.saver.aget_tuple(config)):
            parent = await self.saver.aget_tuple(found.parent_config) if found.parent_config else None
            sources.append(str(found.metadata.get("source")))
            if sources[-1] not in ("update", "fork") and not (is_first and sources == ["loop"]):
                break
            if sources[-1] == "update":
                known = parent.checkpoint["channel_versions"] if parent else {}
                versions = found.checkpoint["channel_versions"]
                written = {name for name in versions if versions[name] != known.get(name)}
                is_edited = is_edited or any(not name.startswith(("branch:to:", "__")) for name in written)
            config = found.parent_config
        starts = sources[: 2 if is_first else 1]
        return StartPoint(is_branch="update" in starts or "fork" in starts, is_edited=is_edited)


@dataclass
class FakeConversations:
    """A conversation store with the same earlier turns for every run, which keeps the runs that it stores."""

    turns: list[Turn] = field(default_factory=list)
    fault: SourceboundError | None = None
    kept: list[Run] = field(default_factory=list)

    async def earlier(self, run: Run) -> list[Turn]:
        if self.fault:
            raise self.fault
        return self.turns

    async def keep(self, run: Run) -> None:
        self.kept.append(run)


@dataclass
class FakeAuditLog:
    """An audit log that keeps the records or raises one fault."""

    fault: SourceboundError | None = None
    records: list[AuditRecord] = field(default_factory=list)
    raw_texts: list[str] = field(default_factory=list)
    validated_texts: list[str] = field(default_factory=list)

    async def append(
        self, record: AuditRecord, run: Run, raw_model_text: str, validated_answer_text: str
    ) -> AuditRecord:
        if self.fault:
            raise self.fault
        self.records.append(record)
        self.raw_texts.append(raw_model_text)
        self.validated_texts.append(validated_answer_text)
        return record


@dataclass
class FakeAnswerLog:
    """A log of model answers that keeps them."""

    kept: dict[GenerationKey, Generation] = field(default_factory=dict)

    async def find(self, asked: GenerationKey) -> Generation | None:
        return self.kept.get(asked)

    async def keep(self, asked: GenerationKey, generation: Generation) -> Generation:
        return self.kept.setdefault(asked, generation)


@dataclass
class FakeModel:
    """A model that gives one answer to every prompt, and keeps the prompts."""

    answer: Generation = field(default_factory=generation)
    prompts: list[Prompt] = field(default_factory=list)

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        self.prompts.append(prompt)
        return self.answer.model_copy(update={"prompt_sha256": prompt.prompt_sha256})


@dataclass
class Talker(FakeModel):
    """A model that gives one answer after the other, and repeats the last."""

    answers: list[Generation] = field(default_factory=list)

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        self.prompts.append(prompt)
        answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        return answer.model_copy(update={"prompt_sha256": prompt.prompt_sha256})


@dataclass
class FakeOutside:
    """All ports of the graph."""

    policy: Policy
    retriever: FakeRetriever
    model: FakeModel = field(default_factory=FakeModel)
    catalog: FakeCatalog = field(default_factory=FakeCatalog)
    run_log: FakeRunLog = field(default_factory=FakeRunLog)
    lineage: SavedLineage = field(default_factory=SavedLineage)
    audit_log: FakeAuditLog = field(default_factory=FakeAuditLog)
    answers: FakeAnswerLog = field(default_factory=FakeAnswerLog)
    models_opened: list[str] = field(default_factory=list)
    conversations: FakeConversations = field(default_factory=FakeConversations)
    states: dict[str, State] = field(default_factory=dict)
    release_status: ReleaseStatus = ReleaseStatus.RELEASED

    def find_policy(self, name: str | None, *, embedding_model: str | None) -> FoundPolicy:
        return FoundPolicy(self.policy, self.release_status)

    def check(self, name: str, policy: Policy) -> None:
        """Accept every policy: every model can hold every prompt."""

    async def open(self, name: str) -> AnswerModel:
        self.models_opened.append(name)
        return self.model

    async def read_state(self, thread_id: str, run_id: str) -> State:
        return self.states.get(thread_id, State())

    def ports(self) -> Ports:
        """Return the ports in the type that the graph expects."""
        numbers = count()
        new_id: Callable[[], str] = lambda: f"id-{next(numbers)}"  # noqa: E731
        return Ports(
            catalog=self.catalog,
            retriever=self.retriever,
            run_log=self.run_log,
            lineage=self.lineage,
            conversations=self.conversations,
            read_state=self.read_state,
            audit_log=self.audit_log,
            answers=self.answers,
            models=self,
            find_policy=self.find_policy,
            new_id=new_id,
            defaults=RunContext(model="fake", collection="manuals"),
        )


class FakeEmbedder:
    """An embedder that makes vectors of the texts' digests, keeps the texts, and has a clock that some texts advance.

    Args:
        slow: Counting a text that contains this takes a second.
    """

    name = "fake:digest"
    dimensions = 8
    max_tokens = 150

    def __init__(self, slow: str = "") -> None:
        self.texts: list[str] = []
        self._now = threading.local()
        self._slow = slow

    def count_tokens(self, text: str) -> int:
        if self._slow and self._slow in text:
            self._now.seconds = self.clock() + 1
        return len(text.split())

    def clock(self) -> float:
        """Return the time of the calling thread, so that no file waits for another."""
        return getattr(self._now, "seconds", 0.0)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[byte / 256 for byte in sha256(text.encode()).digest()[: self.dimensions]] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        (vector,) = await self.embed_documents([text])
        return vector
