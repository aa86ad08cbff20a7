"""The natural questions, written by one author from reading the files, never from what the product answers.

Each question has the facts that an answer must say, each as alternatives, and the places that say them. The split into
`dev` and `held` is by source file. Failures of `held` are not read.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, model_validator

from sourcebound.contracts.corpus.document import Block, BlockKind, Page, ParsedDocument
from sourcebound.evals.natural.sources import FOLDER
from sourcebound.ingest.loaders.select import load_document

ELSEWHERE: Final = FOLDER / "elsewhere.jsonl"
"""The questions about pages of Debian's packages, by other authors who never saw the product."""
LANGUAGES: Final = FOLDER / "languages.jsonl"
"""Questions in six languages about documents in English. Other authors, who never saw the product, wrote both."""
FOREIGN: Final = FOLDER / "foreign.jsonl"
"""Questions in the language of their document and in English, about documents in six languages, by other authors."""
DEV: Final = "dev"
HELD: Final = "held"
MAX_BYTES: Final = 200_000_000
MARKUP: Final = re.compile(r"[*`_|]+")
COMMENT: Final = re.compile(r"^#+ *", re.MULTILINE)
QUOTES: Final = str.maketrans("’‘“”–‑", "''\"\"--")


class Kind(StrEnum):
    """The kind of answer that a question asks for."""

    HOW = "how"
    WHY = "why"
    LIST = "list"
    COMPARE = "compare"
    YES_NO = "yes or no"
    QUANTITY = "how much, how many"
    WHO_WHEN = "who, when, where"
    OPTION = "option of a command"
    WHAT = "what, which"
    NEAR = "absent, near the topic"
    OFF_TOPIC = "absent, off topic"


ABSENT: Final = (Kind.NEAR, Kind.OFF_TOPIC)


class Place(BaseModel):
    """A file of the corpus and the section or page of it that holds the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    section: str | None = None
    """The text of a heading; None for the whole file."""
    page: int | None = None


class Question(BaseModel):
    """One question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    kind: Kind
    language: str = "en"
    typos: bool = False
    places: tuple[Place, ...] = ()
    """Where the answer is. An answer that cites none of these files is not right."""
    facts: tuple[tuple[str, ...], ...] = ()
    """What the answer must say. Each fact has one or more alternatives."""

    @model_validator(mode="after")
    def _check(self) -> "Question":
        if (self.kind in ABSENT) != (not self.places) or bool(self.places) != bool(self.facts):
            raise ValueError(f"{self.id}: an answerable question has places and facts, and no other question has any")
        return self

    @property
    def answerable(self) -> bool:
        """Whether the files hold the answer."""
        return self.kind not in ABSENT

    @property
    def part(self) -> str:
        """`dev` or `held`, by the first file; by the id for a question without an answer."""
        return part_of(self.places[0].file if self.places else self.id)


def part_of(source: str) -> str:
    """Return `dev` or `held` by the folder of a file or else by the hash of its name, which no new file changes."""
    folder = source.partition("/")[0]
    if folder in (DEV, HELD):
        return folder
    return DEV if hashlib.sha256(source.encode()).digest()[0] % 2 == 0 else HELD


def read_questions(path: Path = FOLDER / "questions.jsonl") -> list[Question]:
    """Read the questions."""
    return [Question.model_validate(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def normalize(text: str) -> str:
    """Return a text as facts are compared: lower case, plain quotes, no markup, single spaces."""
    plain = MARKUP.sub("", COMMENT.sub("", text.translate(QUOTES)))
    return " ".join(plain.casefold().split())


def says(text: str, fact: Iterable[str]) -> bool:
    """Whether a text holds one of the alternatives of a fact as whole words and whole numbers."""
    normalized = normalize(text)
    return any(_pattern(alternative).search(normalized) for alternative in fact)


@cache
def _pattern(alternative: str) -> re.Pattern[str]:
    wanted = normalize(alternative)
    before = r"(?<!\w)(?<!\d[.,])" if wanted[0].isalnum() else ""
    after = r"(?!\w|[.,]\d)" if wanted[-1].isalnum() else ""
    return re.compile(before + re.escape(wanted) + after)


class StaleQuestion(ValueError):
    """A question whose place is absent or does not say its facts."""


def check_place(question: Question, folder: Path, load: Callable[[Path], ParsedDocument] | None = None) -> None:
    """Check that the places of a question together say each of its facts.

    Args:
        question: The question.
        folder: The folder of the corpus.
        load: Reads a file; by default the product's own loader.

    Raises:
        StaleQuestion: A file, section or page does not exist, or no place says a fact.
    """
    texts = [_text_of(place, folder, load or _load) for place in question.places]
    for fact in question.facts:
        if not any(says(text, fact) for text in texts):
            raise StaleQuestion(f"{question.id}: no place says {fact[0]!r}")


@cache
def _load(path: Path) -> ParsedDocument:
    return load_document(path, MAX_BYTES)


def _text_of(place: Place, folder: Path, load: Callable[[Path], ParsedDocument]) -> str:
    path = folder / place.file
    if not path.is_file():
        raise StaleQuestion(f"{place.file} is absent")
    pages = [page for page in load(path).pages if place.page in (None, page.number)]
    text = "\n".join(page.text for page in pages)
    if place.section is not None:
        text = "\n".join(_section(page, place.section) for page in pages).strip()
    if not text:
        raise StaleQuestion(f"{place.file} has no {place.section or f'page {place.page}'}")
    return text


def _section(page: Page, title: str) -> str:
    """Return the text under a heading, up to the next heading of its level or above; empty if there is none."""
    headings = [block for block in page.blocks if block.kind is BlockKind.HEADING]
    for position, heading in enumerate(headings):
        if normalize(_cut(page, heading)) == normalize(title):
            end = _next_start(headings[position + 1 :], heading.level, len(page.text))
            return page.text[heading.char_end : end]
    return ""


def _next_start(headings: Sequence[Block], level: int, default: int) -> int:
    return next((heading.char_start for heading in headings if heading.level <= level), default)


def _cut(page: Page, block: Block) -> str:
    return page.text[block.char_start : block.char_end]
