"""CP-3: what each node of a recorded run writes when it is computed again.

The nodes compute themselves; nothing of them is written a second time here. A node that reaches outside is given what
the outside said: the clock as it was read, the model's text, the candidates. What such a node makes of it, and of what
it sends, is computed.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import chain, repeat
from typing import Final, NamedTuple, Self

from sourcebound.contracts.admission import STAGE as ACCEPT
from sourcebound.contracts.admission import admit
from sourcebound.contracts.audit.hash_chain import audit_columns, record_hash
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.conversation.model_rewrite import STAGE as RESOLVE
from sourcebound.contracts.conversation.model_rewrite import read_rewriting, rewriting_prompt
from sourcebound.contracts.conversation.turns import Resolution, resolve
from sourcebound.contracts.execution.call import Call, make_call
from sourcebound.contracts.execution.generation import Generation, GenerationKey
from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.outcome import FailureCode, Outcome, Status, fail, proceed
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, canonical_prompt
from sourcebound.contracts.replay.report import RecordedRow, RecordedRun, RecordedText
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, retrieval_request
from sourcebound.contracts.state import JsonObject, State
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.build_prompt import build_prompt
from sourcebound.nodes.package import package
from sourcebound.nodes.record import STAGE as RECORD
from sourcebound.nodes.record import record
from sourcebound.nodes.retrieve import STAGE as RETRIEVE
from sourcebound.nodes.select_facts import select_facts
from sourcebound.nodes.validate import validate


class RecomputeInput(NamedTuple):
    """What is known of one step."""

    before: State
    changes: JsonObject
    run: RecordedRun


class LayerRecomputation(NamedTuple):
    """How a node is computed again."""

    compute: Callable[[RecomputeInput], Awaitable[JsonObject]]
    note: str = ""


async def _accept(recorded: RecomputeInput) -> JsonObject:
    """Identity and policy; whether the collection served is what the database said, where the request itself does."""
    request, changes = recorded.before, recorded.changes
    run, policy = Run.model_validate(changes["run"]), Policy.model_validate(changes["policy"])
    made = iter([] if request.get("run_id") else [run.run_id])
    admission = admit(
        request,
        policy,
        None,
        collection_name=request.get("collection") or run.collection,
        model=run.model,
        thread_id=run.thread_id,
        new_id=lambda: next(made, run.request_id),
        started_at=run.started_at,
        is_draft=run.is_draft,
    )
    bundle = request.get("retrieval_bundle")
    by_request = bundle is not None or admission.outcome.status is Status.FAILED
    outcome = admission.outcome if by_request else _admitted(Outcome.model_validate(changes["outcome"]))
    return {
        "run": admission.run.model_dump(mode="json"),
        "policy": policy.model_dump(mode="json"),
        "outcome": outcome.model_dump(mode="json"),
        **({"retrieval": bundle} if bundle is not None else {}),
    }


def _admitted(said: Outcome) -> Outcome:
    """What the catalog led to: on, or one of two ways to stop."""
    return proceed(ACCEPT) if said.status is Status.OK else said


async def _resolve(recorded: RecomputeInput) -> JsonObject:
    """What the question stands for, from the earlier runs as they were looked at and what a model said of them."""
    if "resolution" not in recorded.changes:
        return {"outcome": recorded.changes["outcome"]}
    run, said = Run.model_validate(recorded.before["run"]), Resolution.model_validate(recorded.changes["resolution"])
    outcome = proceed(RESOLVE)
    if said.generation is None:
        made = resolve(run.question, said.earlier)
    else:
        prompt = rewriting_prompt(run.question, said.earlier)
        sent = said.generation.model_copy(update={"prompt_sha256": prompt.prompt_sha256})
        made, outcome = read_rewriting(run.question, said.earlier, prompt, sent), said.generation.outcome
    made = made.model_copy(update={"carried": said.carried})
    resolved = run.model_copy(update={"search_query": made.search_query, "carried": made.carried})
    return {
        "run": resolved.model_dump(mode="json"),
        "resolution": made.model_dump(mode="json"),
        "outcome": outcome.model_dump(mode="json"),
    }


async def _retrieve(recorded: RecomputeInput) -> JsonObject:
    """The candidates as they are, in a bundle that says what was searched for; the rest is as the index held it."""
    if "retrieval" not in recorded.changes:
        return {"outcome": recorded.changes["outcome"]}
    run, policy = Run.model_validate(recorded.before["run"]), Policy.model_validate(recorded.before["policy"])
    said = RetrievalBundle.model_validate(recorded.changes["retrieval"])
    bundle = said.model_copy(update=retrieval_request(run, policy))
    return {"retrieval": bundle.model_dump(mode="json"), "outcome": proceed(RETRIEVE).model_dump(mode="json")}


async def _select_facts(recorded: RecomputeInput) -> JsonObject:
    """The facts, and what became of each; where a model chose, the request, and what its words come to."""
    form = recorded.changes["facts"].get("generation")
    said = _ReplayedModel(Generation.model_validate(form) if form else None)
    return await select_facts(recorded.before, models=said, answers=said)


class _ReplayedModel:
    """Models that say what was recorded, and a log of answers that keeps none."""

    def __init__(self, said: Generation | None) -> None:
        self._said = said

    def check(self, name: str, policy: Policy) -> None:
        """It was large enough."""

    async def open(self, name: str) -> Self:
        return self

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        if self._said is None:
            raise ValueError("no choice of a model is recorded")
        return _sent(self._said, prompt, policy)

    async def find(self, asked: GenerationKey) -> None:
        """Nothing was asked before."""

    async def keep(self, asked: GenerationKey, generation: Generation) -> Generation:
        return generation


async def _generate(recorded: RecomputeInput) -> JsonObject:
    """The request: the digest of the prompt and the parameters that profile and policy give; the text is recorded."""
    prompt, policy = Prompt.model_validate(recorded.before["prompt"]), Policy.model_validate(recorded.before["policy"])
    said = Generation.model_validate(recorded.changes["generation"])
    computed = _sent(said, prompt, policy)
    return {"generation": computed.model_dump(mode="json"), "outcome": said.outcome.model_dump(mode="json")}


def _sent(said: Generation, prompt: Prompt, policy: Policy) -> Generation:
    """What a model said, to the request as it is computed now."""
    return said.model_copy(
        update={
            "prompt_sha256": sha256(canonical_prompt(prompt.messages)).hexdigest(),
            "call": make_call(_profile_of(said.call), policy) if said.call else None,
        }
    )


def _profile_of(call: Call) -> ModelProfile:
    """What a recorded call says of its model; the rest of a profile has no part in a request."""
    return ModelProfile(
        provider="openai",
        model=call.model,
        wire=call.wire,
        context_window=None,
        tokenizer_tolerance=0,
        temperature="unsupported" if call.temperature == "unsupported" else "zero",
        seed=call.seed is not None,
        structured_output=call.structured_output,
        timeout_seconds=1,
        budget_seconds=1,
        max_requests=1,
        pause_seconds=0,
        keep_alive=call.keep_alive,
    )


class _WrittenRow(NamedTuple):
    record: AuditRecord
    text: RecordedText


class _InMemoryAuditLog:
    """An audit log that keeps what it is given."""

    def __init__(self) -> None:
        self.written: list[_WrittenRow] = []

    async def append(
        self, record: AuditRecord, run: Run, raw_model_text: str, validated_answer_text: str
    ) -> AuditRecord:
        text = RecordedText(
            attempt=record.attempt,
            question=run.question,
            raw_model_text=raw_model_text or None,
            validated_answer_text=validated_answer_text or None,
        )
        self.written.append(_WrittenRow(record, text))
        return record


async def _record(recorded: RecomputeInput) -> JsonObject:
    """The audit record, its row in the chain and the texts beside it."""
    if "audit" not in recorded.changes:
        said = Outcome.model_validate(recorded.changes["outcome"])
        return {"outcome": fail(RECORD, FailureCode.AUDIT_UNAVAILABLE, said.message).model_dump(mode="json")}
    rows, log = recorded.run.records, _InMemoryAuditLog()
    last = datetime.fromisoformat(recorded.changes["audit"]["timestamp_utc"])
    earlier = (datetime.fromisoformat(row.columns["timestamp_utc"]) for row in rows[:-1])
    update = await record(recorded.before, audit_log=log, now=lambda: next(earlier, last))
    return {
        **update,
        "validations": list(map(_row, chain(rows, repeat(None)), (written.record for written in log.written))),
        "run_texts": [written.text.model_dump(mode="json") for written in log.written],
    }


def stored_row(row: RecordedRow) -> JsonObject:
    """A row of the audit record with its place, in the order of the names."""
    return dict(sorted({**row.columns, **row.model_dump(exclude={"columns"})}.items()))


def _row(stored: RecordedRow | None, record: AuditRecord) -> JsonObject:
    """A computed record in the place of the stored one; the time at which it was made is the stored one's own."""
    columns: JsonObject = {**audit_columns(record)}
    if stored is None:
        return columns
    columns["timestamp_utc"] = stored.columns["timestamp_utc"]
    digest = record_hash(columns, stored.previous_hash) if stored.previous_hash else None
    return stored_row(stored.model_copy(update={"columns": columns, "row_hash": digest}))


async def _package(recorded: RecomputeInput) -> JsonObject:
    """The response; where there is no record to say when the run ended, at the moment that it says itself."""
    run = Run.model_validate(recorded.before["run"])
    took = PublicResponse.model_validate(recorded.changes["response"]).latency_ms
    ended = datetime.fromisoformat(run.started_at) + timedelta(milliseconds=took)
    return dict(await package(recorded.before, now=lambda: ended))


async def _alone(node: Callable[[State], Awaitable[JsonObject]], recorded: RecomputeInput) -> JsonObject:
    return await node(recorded.before)


LAYERS: Final = {
    "accept": LayerRecomputation(_accept),
    "resolve": LayerRecomputation(_resolve, "the earlier runs are as this one looked at them"),
    "retrieve": LayerRecomputation(_retrieve, "what the index held is recorded and not searched again"),
    "assemble": LayerRecomputation(partial(_alone, assemble)),
    "select_facts": LayerRecomputation(_select_facts, "the facts and their request; what a model chose is recorded"),
    "build_prompt": LayerRecomputation(partial(_alone, build_prompt)),
    "generate": LayerRecomputation(_generate, "the request; what the model answered is recorded"),
    "validate": LayerRecomputation(partial(_alone, validate)),
    "record": LayerRecomputation(_record),
    "package": LayerRecomputation(_package),
}
"""Every node of the graph."""
