"""CP-3: recomputes the output of each node of a recorded run.

The nodes themselves run again; their logic is not repeated here. A node with external inputs gets the recorded ones:
the time, the model's text, the candidates. Its output, and the request that it would send, are computed.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import chain, repeat
from typing import Final, NamedTuple, Self

from sourcebound.contracts.admission import STAGE as ACCEPT
from sourcebound.contracts.admission import admit, requested_collection
from sourcebound.contracts.audit.hash_chain import audit_columns, record_hash
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.conversation.model_rewrite import read_rewriting, rewriting_prompt
from sourcebound.contracts.conversation.turns import STAGE as RESOLVE
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
from sourcebound.contracts.state import JsonObject, RunContext, State
from sourcebound.contracts.versions import contract_version
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.build_prompt import build_prompt
from sourcebound.nodes.package import package
from sourcebound.nodes.record import STAGE as RECORD
from sourcebound.nodes.record import record
from sourcebound.nodes.retrieve import STAGE as RETRIEVE
from sourcebound.nodes.select_facts import select_facts
from sourcebound.nodes.validate import validate


class RecomputeInput(NamedTuple):
    """The recorded input and output of one step."""

    before: State
    changes: JsonObject
    run: RecordedRun


class LayerRecomputation(NamedTuple):
    """The recomputation of a node."""

    compute: Callable[[RecomputeInput], Awaitable[JsonObject]]
    note: str = ""


async def _accept(recorded: RecomputeInput) -> JsonObject:
    """Recompute identity and policy. The outcome depends on the catalog, unless the request decides it."""
    request, changes = recorded.before, recorded.changes
    run, policy = Run.model_validate(changes["run"]), Policy.model_validate(changes["policy"])
    new_ids = iter([] if request.get("run_id") else [run.run_id])
    admission = admit(
        request,
        policy,
        None,
        collection_name=requested_collection(request, RunContext()) or run.collection,
        model=run.model,
        thread_id=run.thread_id,
        new_id=lambda: next(new_ids, run.request_id),
        started_at=run.started_at,
        is_draft=run.is_draft,
        salt=run.salt,
        made_by=run.made_by,
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


def _admitted(recorded: Outcome) -> Outcome:
    """Return the outcome that the catalog led to: OK, or the recorded refusal or failure."""
    return proceed(ACCEPT) if recorded.status is Status.OK else recorded.model_copy(update={"stage": ACCEPT})


def _failed_outside(recorded: RecomputeInput, stage: str) -> JsonObject:
    """Return the recorded failure of a layer that something outside of the graph failed."""
    outcome = Outcome.model_validate(recorded.changes["outcome"])
    return {"outcome": outcome.model_copy(update={"stage": stage}).model_dump(mode="json")}


async def _resolve(recorded: RecomputeInput) -> JsonObject:
    """Recompute the resolved question from the recorded earlier runs and the recorded model text."""
    if "resolution" not in recorded.changes:
        return _failed_outside(recorded, RESOLVE)
    run = Run.model_validate(recorded.before["run"])
    resolution = Resolution.model_validate(recorded.changes["resolution"])
    if resolution.generation is None:
        recomputed = resolve(run.question, resolution.earlier, contract_version(run.made_by, "conversation"))
        outcome = recomputed.outcome
    else:
        prompt = rewriting_prompt(run.question, resolution.earlier)
        generation = resolution.generation.model_copy(update={"prompt_sha256": prompt.prompt_sha256})
        recomputed = read_rewriting(run.question, resolution.earlier, prompt, generation)
        outcome = generation.outcome
    recomputed = recomputed.model_copy(update={"carried": resolution.carried})
    new_run = run.model_copy(update={"search_query": recomputed.search_query, "carried": recomputed.carried})
    return {
        "run": new_run.model_dump(mode="json"),
        "resolution": recomputed.model_dump(mode="json"),
        "outcome": outcome.model_dump(mode="json"),
    }


async def _retrieve(recorded: RecomputeInput) -> JsonObject:
    """Take the recorded candidates, and recompute the request part of the bundle."""
    if "retrieval" not in recorded.changes:
        return _failed_outside(recorded, RETRIEVE)
    run, policy = Run.model_validate(recorded.before["run"]), Policy.model_validate(recorded.before["policy"])
    bundle = RetrievalBundle.model_validate(recorded.changes["retrieval"])
    recomputed = bundle.model_copy(update=retrieval_request(run, policy))
    return {"retrieval": recomputed.model_dump(mode="json"), "outcome": proceed(RETRIEVE).model_dump(mode="json")}


async def _select_facts(recorded: RecomputeInput) -> JsonObject:
    return await replay_facts(recorded.before, recorded.changes["facts"])


async def replay_facts(before: State, facts: JsonObject) -> JsonObject:
    """Recompute the facts and their outcomes; for a model filter, the request and the reading of its reply.

    Args:
        before: The state before `select_facts`.
        facts: The recorded phase, with what the model chose.
    """
    generation = facts.get("generation")
    model = _ReplayedModel(Generation.model_validate(generation) if generation else None)
    return await select_facts(before, models=model, answers=model)


class _ReplayedModel:
    """A model that returns the recorded text, and an answer log that stores nothing."""

    def __init__(self, generation: Generation | None) -> None:
        self._generation = generation

    def check(self, name: str, policy: Policy) -> None:
        """Accept every policy; the recorded run passed this check."""

    async def open(self, name: str) -> Self:
        return self

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        if self._generation is None:
            raise ValueError("no choice of a model is recorded")
        return _with_request(self._generation, prompt, policy)

    async def find(self, key: GenerationKey) -> None:
        """Return no stored answer."""

    async def keep(self, key: GenerationKey, generation: Generation) -> Generation:
        return generation


async def _generate(recorded: RecomputeInput) -> JsonObject:
    """Recompute the request: the prompt's digest and the call parameters. The text is the recorded one."""
    prompt, policy = Prompt.model_validate(recorded.before["prompt"]), Policy.model_validate(recorded.before["policy"])
    generation = Generation.model_validate(recorded.changes["generation"])
    computed = _with_request(generation, prompt, policy)
    return {"generation": computed.model_dump(mode="json"), "outcome": generation.outcome.model_dump(mode="json")}


def _with_request(generation: Generation, prompt: Prompt, policy: Policy) -> Generation:
    """Attach the recomputed request to a recorded generation."""
    return generation.model_copy(
        update={
            "prompt_sha256": sha256(canonical_prompt(prompt.messages)).hexdigest(),
            "call": make_call(_profile_of(generation.call), policy) if generation.call else None,
        }
    )


def _profile_of(call: Call) -> ModelProfile:
    """Rebuild the part of a model profile that determines a request."""
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
    """An audit log that collects its records in memory."""

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
            salt=run.salt,
        )
        self.written.append(_WrittenRow(record, text))
        return record


async def _record(recorded: RecomputeInput) -> JsonObject:
    """Recompute the audit record, its row in the chain and its texts."""
    if "audit" not in recorded.changes:
        outcome = Outcome.model_validate(recorded.changes["outcome"])
        return {"outcome": fail(RECORD, FailureCode.AUDIT_UNAVAILABLE, outcome.message).model_dump(mode="json")}
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
    """Return a row of the audit record with its position, sorted by name."""
    return dict(sorted({**row.columns, **row.model_dump(exclude={"columns"})}.items()))


def _row(stored: RecordedRow | None, record: AuditRecord) -> JsonObject:
    """Put a computed record in the place of the stored one, with the stored timestamp."""
    columns: JsonObject = {**audit_columns(record)}
    if stored is None:
        return columns
    columns["timestamp_utc"] = stored.columns["timestamp_utc"]
    digest = record_hash(columns, stored.previous_hash) if stored.previous_hash else None
    return stored_row(stored.model_copy(update={"columns": columns, "row_hash": digest}))


async def _package(recorded: RecomputeInput) -> JsonObject:
    """Recompute the response; without a record, the run ends at the time that the response states."""
    run = Run.model_validate(recorded.before["run"])
    latency_ms = PublicResponse.model_validate(recorded.changes["response"]).latency_ms
    end = datetime.fromisoformat(run.started_at) + timedelta(milliseconds=latency_ms)
    return dict(await package(recorded.before, now=lambda: end))


async def _run_node(node: Callable[[State], Awaitable[JsonObject]], recorded: RecomputeInput) -> JsonObject:
    return await node(recorded.before)


LAYERS: Final = {
    "accept": LayerRecomputation(_accept),
    "resolve": LayerRecomputation(_resolve, "the earlier runs are as this one looked at them"),
    "retrieve": LayerRecomputation(_retrieve, "what the index held is recorded and not searched again"),
    "assemble": LayerRecomputation(partial(_run_node, assemble)),
    "select_facts": LayerRecomputation(_select_facts, "the facts and their request; what a model chose is recorded"),
    "build_prompt": LayerRecomputation(partial(_run_node, build_prompt)),
    "generate": LayerRecomputation(_generate, "the request; what the model answered is recorded"),
    "validate": LayerRecomputation(partial(_run_node, validate)),
    "record": LayerRecomputation(_record),
    "package": LayerRecomputation(_package),
}
"""Every node of the graph."""
