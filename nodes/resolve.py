"""CP-6: resolves a follow-up to a search query that stands alone; the question itself stays unchanged (R3-4).

The earlier questions are those of the conversation or, in a chat without one, those of its messages.

A database or model error ends the run, because a half-resolved question must never be answered. If the database is
unavailable, the run is interrupted and can be resumed (CP-2).
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sourcebound.contracts.conversation.model_rewrite import (
    read_rewriting,
    rewriting_policy,
    rewriting_prompt,
    shown_turns,
)
from sourcebound.contracts.conversation.turns import MAX_TURNS, STAGE, Resolution, Turn
from sourcebound.contracts.conversation.turns import resolve as resolve_by_rules
from sourcebound.contracts.outcome import FailureCode, Outcome
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerLog, AnswerModels, Conversations
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.chat_messages import earlier_questions
from sourcebound.contracts.state import State
from sourcebound.contracts.typed_state import TypedState
from sourcebound.errors import ModelError, SourceboundError, StoreError, UsageError
from sourcebound.nodes._faults import describe, fail_in_public
from sourcebound.nodes._model_call import generate_once, model_fault

StateReader = Callable[[str, str], Awaitable[State]]
"""Loads the state of a run by its thread and its id."""


async def resolve(
    state: State, *, conversations: Conversations, models: AnswerModels, answers: AnswerLog, read_state: StateReader
) -> dict[str, Any]:
    """Write `resolution`, and the search query into `run`."""
    run, policy = Run.from_json(state["run"]), Policy.from_json(state["policy"])
    limits = policy.conversation
    try:
        turns = await conversations.earlier(run) if run.conversation_id else _turns_of_chat(state)
        if limits and limits.resolver == "model" and shown_turns(turns):
            resolution, outcome = await _ask_model(run, policy, turns, models, answers)
        else:
            resolution = resolve_by_rules(run.question, turns)
            outcome = resolution.outcome
        max_chunks = (limits and limits.carried_chunks) or 0
        carries = max_chunks if run.conversation_id else 0  # a message could name any run
        source = next((turn for turn in turns if carries and turn.run_id == resolution.from_run_id), None)
        earlier = await read_state(source.thread_id, source.run_id) if source else None
        resolution = resolution.model_copy(
            update={"carried": TypedState(earlier).cited_chunks[:max_chunks] if earlier else ()}
        )
        run = run.model_copy(update={"search_query": resolution.search_query, "carried": resolution.carried})
        if run.conversation_id:
            await conversations.keep(run)
    except SourceboundError as error:
        if isinstance(error, StoreError) and error.is_unavailable:
            raise
        code = model_fault(error) if isinstance(error, ModelError | UsageError) else FailureCode.RETRIEVAL_FAILED
        return {"outcome": fail_in_public(run, STAGE, code, describe(error)).to_json()}
    return {
        "run": run.to_json(),
        "resolution": resolution.to_json(),
        "outcome": outcome.to_json(),
    }


def _turns_of_chat(state: State) -> list[Turn]:
    """Return the earlier questions of a chat as turns. They are searched for only, so no message is trusted."""
    questions = earlier_questions(state.get("messages") or [])[:MAX_TURNS]
    return [
        Turn(
            run_id=each.message_id,
            thread_id="",
            ordinal=len(questions) - number,
            status=each.status or "RUNNING",
            question=each.question,
            search_query=each.search_query,
        )
        for number, each in enumerate(questions)
    ]


async def _ask_model(
    run: Run, policy: Policy, turns: Sequence[Turn], models: AnswerModels, answers: AnswerLog
) -> tuple[Resolution, Outcome]:
    shown = shown_turns(turns)
    prompt = rewriting_prompt(run.question, shown)
    generation = await generate_once(run, 0, prompt, rewriting_policy(policy), models=models, answers=answers)
    return read_rewriting(run.question, shown, prompt, generation), generation.outcome
