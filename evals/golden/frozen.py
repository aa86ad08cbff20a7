"""The replay of an item that has its own evidence, without a database and, with a recorded reply, without a model.

The layers R2, R3 and R5 run as in the graph: gate, selection, prompt, firewall.
"""

from collections.abc import Awaitable, Callable
from time import perf_counter

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.facts.selection import select_locally
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, build_prompt
from sourcebound.contracts.request import unrecorded_run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.validation.firewall import validate
from sourcebound.evals.golden.items import GoldenItem
from sourcebound.evals.golden.judging import Observed

PURPOSE = "evaluation"
Write = Callable[[Prompt, Policy], Awaitable[str]]
"""Generates the raw text of an answer."""


async def replay_frozen(item: GoldenItem, policy: Policy, write: Write) -> Observed:
    """Replay the recorded evidence of an item.

    Args:
        item: An item with recorded evidence.
        policy: The policy.
        write: Generates the answer, unless the item has a recorded reply.

    Returns:
        The end of the replay; it has no run.
    """
    assert item.frozen is not None
    started = perf_counter()
    named = {"policy_version": policy.policy_version, "policy_sha256": policy.sha256}
    raw = {**item.frozen.bundle, "user_question": item.question, **named}
    run = unrecorded_run(item.question, PURPOSE, policy.policy_version, policy.sha256, PURPOSE)
    bundle = assemble(raw, policy, run)
    overlap = policy.facts.min_question_overlap if policy.facts else None
    if overlap is not None and bundle.outcome.status is Status.OK:
        phase, bundle = select_locally(bundle, policy, overlap)
        if phase.outcome.status is not Status.OK:
            return Observed(None, phase.outcome, assembly=bundle)
    if bundle.outcome.status is not Status.OK:
        return Observed(None, bundle.outcome, assembly=bundle)
    built = build_prompt(bundle, policy)
    if built.prompt.outcome.status is not Status.OK:
        return Observed(None, built.prompt.outcome, assembly=built.bundle)
    reply = item.frozen.reply
    text = await write(built.prompt, policy) if reply is None else reply
    result = validate(text, built.bundle, policy)
    return Observed(
        run_id=None,
        outcome=result.outcome,
        retrieval=RetrievalBundle.model_validate(raw),
        assembly=built.bundle,
        validation=result,
        latency_ms=round(1000 * (perf_counter() - started), 1),
    )
