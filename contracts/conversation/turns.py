"""CP-6: a conversation is an ordered list of runs, and a follow-up is resolved to a search query that stands alone.

Each run stores the words that it took from earlier ones, so that it can be recomputed without them. They are used for
search only; the question stays the user's own (R3-4), and the gate applies as to any other run.
"""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Protocol

from pydantic import Field

from sourcebound.contracts.base import Contract, is_absent
from sourcebound.contracts.conversation.follow_up import Rule, needs_context, resolve_follow_up
from sourcebound.contracts.conversation.question_grammar import is_identifier, read_marks
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import Outcome, RefusalCode, RefusalSource, Status, proceed, refuse
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Run
from sourcebound.contracts.text.questions import without_unit_wish
from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.contracts.versions import CONTRACTS

STAGE: Final = "resolve"
MAX_TURNS: Final = 20
"""The most earlier runs that are considered, the latest first."""
ERASED: Final = "an earlier question of this conversation was erased, and is passed over"
UNANSWERED: Final = "an earlier question of this conversation was not answered, and is passed over"
UNRESOLVED: Final = (
    "this looks like a follow-up, but it is not plain what it takes from the question before; "
    "it was searched for as it stands"
)
"""The notice of version 1 of this contract. Later versions ask back."""
UNCLEAR: Final = (
    "this looks like a follow-up, and it is not plain what it takes from the question before; ask the whole question"
)
TOO_LONG: Final = "the follow-up became too long to search for; it was searched for as it stands"


class Turn(Contract):
    """An earlier run of a conversation, as seen by a later one."""

    run_id: str
    thread_id: str
    ordinal: int
    """The position in the conversation, from 1."""
    status: Literal["OK", "NO_EVIDENCE", "FAILED", "RUNNING", "REPLACED", "CANCELLED"]
    question: str | None
    """None if its text was erased."""
    search_query: str | None = None
    """The resolved search query; None if the question stood alone."""

    @property
    def asked(self) -> str:
        """Return the standalone question on one line; empty if there is none."""
        return one_line(self.search_query or self.question or "")


class Resolution(Contract):
    """The resolution of a question in a conversation."""

    search_query: str | None = None
    """None if the question is searched for unchanged."""
    rule: Rule | Literal["model"] | None = None
    from_run_id: str | None = None
    """The run whose words were used."""
    earlier: tuple[Turn, ...] = ()
    """The considered runs, the latest first: everything that the resolution depends on."""
    carried: tuple[str, ...] = ()
    """Chunks that that run cited; they are candidates again."""
    is_unclear: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    """Whether the question is a follow-up that no rule could complete. It is asked back and never searched for."""
    notices: tuple[str, ...] = ()
    prompt: Prompt | None = None
    generation: Generation | None = None
    """The model call that rewrote the question, if the policy asks for one."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the rules: a refusal that asks for the whole question, or OK."""
        if self.is_unclear:
            return refuse(STAGE, RefusalCode.UNCLEAR_FOLLOW_UP, RefusalSource.GATE, UNCLEAR)
        return proceed(STAGE)


class Conversations(Protocol):
    """Stores the order of a conversation's runs, and the texts that follow-ups need."""

    async def earlier(self, run: Run) -> list[Turn]:
        """Return the earlier runs of the conversation, the latest first, at most `MAX_TURNS`.

        Raises:
            SourceboundError: The database did not answer.
        """
        ...

    async def keep(self, run: Run) -> None:
        """Store the search query of a run with its question.

        Raises:
            SourceboundError: The database did not answer.
        """
        ...


def resolve(question: str, turns: Sequence[Turn], version: int = CONTRACTS["conversation"]) -> Resolution:
    """Resolve a question by the rules for English follow-ups.

    The next question may refer to a run that was answered or failed. It may refer to a refused or unfinished run only
    if that names an identifier, and never to an erased one. Such runs are skipped, and beyond them only a value can be
    replaced ("and for the HP-300?").

    Args:
        question: The user's question.
        turns: The earlier runs, the latest first.
        version: The version of this contract. Version 1 searched for an unclear follow-up unchanged, and read the wish
            for a unit (`, in kg?`) as part of the question.

    Returns:
        The resolution, with the considered runs; none if the question stands alone.
    """
    asked = one_line(question) if version == 1 else without_unit_wish(one_line(question))
    if not turns or not needs_context(asked):
        return Resolution()
    notices: list[str] = []
    for number, turn in enumerate(turns, start=1):
        if not _can_be_meant(turn):
            notices.append(UNANSWERED if turn.asked else ERASED)
            continue
        looked_at = tuple(turns[:number])
        found = resolve_follow_up(asked, turn.asked, version)
        if found is None or (notices and found.rule is not Rule.ANOTHER_VALUE):
            return _unclear(looked_at, notices, version)
        if len(found.query) > MAX_QUESTION_CHARACTERS:
            return Resolution(earlier=looked_at, notices=_each_once(*notices, TOO_LONG))
        return Resolution(
            search_query=found.query,
            rule=found.rule,
            from_run_id=turn.run_id,
            earlier=looked_at,
            notices=_each_once(*notices),
        )
    return _unclear(tuple(turns), notices, version)


def _unclear(earlier: tuple[Turn, ...], notices: Sequence[str], version: int) -> Resolution:
    if version == 1:
        return Resolution(earlier=earlier, notices=_each_once(*notices, UNRESOLVED))
    return Resolution(earlier=earlier, notices=_each_once(*notices), is_unclear=True)


def one_line(text: str) -> str:
    """Sanitize a text (R2-S2) and put it on one line."""
    return " ".join(sanitize(text).text.split())


def _can_be_meant(turn: Turn) -> bool:
    """Whether the next question can refer to this run; a refused question may have been about anything."""
    if not turn.asked or len(turn.asked) > MAX_QUESTION_CHARACTERS:
        return False
    if turn.status in (Status.OK, Status.FAILED):
        return True
    return any(is_identifier(mark) for mark in read_marks(turn.asked))


def _each_once(*notices: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notices))
