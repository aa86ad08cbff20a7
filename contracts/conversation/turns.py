"""CP-6: a conversation is an ordered list of runs, and a follow-up is resolved to a search query that stands alone.

Each run keeps what it took from earlier ones, so it can be computed again without them. What is taken is words for the
search; the question stays the user's own (R3-4), and the gate judges the answer to it as it judges any other.
"""

from collections.abc import Sequence
from typing import Final, Literal, Protocol

from sourcebound.contracts.base import Contract
from sourcebound.contracts.conversation.follow_up import Rule, needs_context, resolve_follow_up
from sourcebound.contracts.conversation.question_grammar import is_identifier, read_marks
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Run
from sourcebound.contracts.text.sanitize import sanitize

MAX_TURNS: Final = 20
"""Earlier runs that are looked at, the latest first."""
ERASED: Final = "an earlier question of this conversation was erased, and is passed over"
UNANSWERED: Final = "an earlier question of this conversation was not answered, and is passed over"
UNRESOLVED: Final = (
    "this looks like a follow-up, but it is not plain what it takes from the question before; "
    "it was searched for as it stands"
)
TOO_LONG: Final = "the follow-up became too long to search for; it was searched for as it stands"


class Turn(Contract):
    """An earlier run of a conversation, as a later one sees it."""

    run_id: str
    thread_id: str
    ordinal: int
    """From 1."""
    status: Literal["OK", "NO_EVIDENCE", "FAILED", "RUNNING"]
    question: str | None
    """None where its text was erased."""
    search_query: str | None = None
    """What it was resolved to; None where it stood alone."""

    @property
    def asked(self) -> str:
        """The question as it stands alone, on one line; empty where there is none."""
        return one_line(self.search_query or self.question or "")


class Resolution(Contract):
    """What a run of a conversation made of its question."""

    search_query: str | None = None
    """None where the question is searched for as it stands."""
    rule: Rule | Literal["model"] | None = None
    from_run_id: str | None = None
    """The run that words were taken from."""
    earlier: tuple[Turn, ...] = ()
    """The runs that were looked at, the latest first: all that the resolution depends on."""
    carried: tuple[str, ...] = ()
    """Chunks cited by that run that are candidates again."""
    notices: tuple[str, ...] = ()
    prompt: Prompt | None = None
    generation: Generation | None = None
    """The call of a model that rewrote the question, where the policy asks for one."""


class Conversations(Protocol):
    """Keeps the order of the runs of each conversation, and the texts that follow-ups need."""

    async def earlier(self, run: Run) -> list[Turn]:
        """The runs before this one in its conversation, the latest first, `MAX_TURNS` at most.

        Raises:
            SourceboundError: The store did not answer.
        """
        ...

    async def keep(self, run: Run) -> None:
        """Keeps the search query of a run beside its question.

        Raises:
            SourceboundError: The store did not answer.
        """
        ...


def resolve(question: str, turns: Sequence[Turn]) -> Resolution:
    """Resolves a question by the rules for English follow-ups.

    A run that was answered, or failed, can be meant by the next question. One that was refused or has not ended only if
    it names an identifier, and one that was erased not at all: these are passed over, and beyond them only another
    value can be put in the place of one ("and for the HP-300?").

    Args:
        question: The user's question.
        turns: The runs before it, the latest first.

    Returns:
        The resolution, with the runs that were looked at; none of them where the question stands alone.
    """
    asked = one_line(question)
    if not turns or not needs_context(asked):
        return Resolution()
    notices: list[str] = []
    for number, turn in enumerate(turns, start=1):
        if not _can_be_meant(turn):
            notices.append(UNANSWERED if turn.asked else ERASED)
            continue
        looked_at = tuple(turns[:number])
        found = resolve_follow_up(asked, turn.asked)
        if found is None or (notices and found.rule is not Rule.ANOTHER_VALUE):
            return Resolution(earlier=looked_at, notices=_each_once(*notices, UNRESOLVED))
        if len(found.query) > MAX_QUESTION_CHARACTERS:
            return Resolution(earlier=looked_at, notices=_each_once(*notices, TOO_LONG))
        return Resolution(
            search_query=found.query,
            rule=found.rule,
            from_run_id=turn.run_id,
            earlier=looked_at,
            notices=_each_once(*notices),
        )
    return Resolution(earlier=tuple(turns), notices=_each_once(*notices, UNRESOLVED))


def one_line(text: str) -> str:
    """A text sanitized (R2-S2) and put on one line."""
    return " ".join(sanitize(text).text.split())


def _can_be_meant(turn: Turn) -> bool:
    """Whether the next question can be about this run's question: a refused one may have been about anything."""
    if not turn.asked or len(turn.asked) > MAX_QUESTION_CHARACTERS:
        return False
    if turn.status in (Status.OK, Status.FAILED):
        return True
    return any(is_identifier(mark) for mark in read_marks(turn.asked))


def _each_once(*notices: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notices))
