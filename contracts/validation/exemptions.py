"""The segments of an answer that need no citation: headings, lead-ins and connectives (R5-6).

A heading or the head of a table is exempt only if it states nothing: it has no finite verb, and each of its content
words is in the question or in a chunk that its section or its rows cite.
"""

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.languages.detection import foreign_language
from sourcebound.contracts.languages.english import read_meanings
from sourcebound.contracts.languages.function_words import language_of
from sourcebound.contracts.languages.lexicon import WORD
from sourcebound.contracts.text.blocks import MAX_HEADING_WORDS, STATEMENT_END
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.text.content_words import content_words
from sourcebound.contracts.text.segments import Segment, SegmentKind
from sourcebound.contracts.validation.literals.amounts.units import is_unit
from sourcebound.contracts.validation.support.passages import FAMILY, read_passage
from sourcebound.contracts.validation.title_words import TITLE_WORDS
from sourcebound.contracts.validation.versions import SECOND

CONNECTIVES: Final = frozenset(
    {
        "in summary", "in short", "to summarize", "to summarise", "in conclusion", "additionally", "furthermore",
        "moreover", "however", "therefore", "for example", "for instance", "that is", "as follows", "in detail",
        "in addition", "specifically", "finally", "note", "summary", "answer",
    }
)  # fmt: skip
"""Segments that state nothing (R5-6). The list is frozen with `segment_v1`."""
FINITE_VERBS: Final = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|does|do|did|can|cannot|could|might|must|shall|should|will|would|isn't|aren't"
    r"|wasn't|weren't|don't|doesn't|didn't|can't|won't|needs?|requires?|contains?|includes?|means|uses|takes|gives|makes"
    r"|becomes?|became|runs|works|fails|failed|exceeds|depends|causes|caused|allows|prevents|holds|keeps|begins|began|ends"
    r"|starts|stops|costs|weighs|measures|remains|occurs|occurred|happens|happened|increases|decreases|rises|falls|shows"
    r"|says|said|states|lies|consists|belongs|belonged|never|not"
    r"|ist|sind|war|waren|hat|haben|muss|müssen|darf|dürfen|kann|können|soll|sollen|wird|werden"
    r"|est|sont|était|étaient|ont|doit|doivent|peut|peuvent|es|fue|tiene|tienen|debe|deben|puede|pueden"
    r"|è|sono|deve|devono|può|possono|são|foi|tem|têm|devem|pode|podem)\b",
    re.IGNORECASE,
)
"""Verbs in the forms that state something, and negations, which turn a title into a statement."""
NO_VERB_FIRST: Final = re.compile(
    r"(?:needs|means|uses|works|failed|causes|ends|starts|stops|costs|measures|increases|decreases|rises|falls|shows"
    r"|states|lies)\b",
    re.IGNORECASE,
)
"""Verbs that, as the first word of a heading, are nouns or adjectives: `Costs`, `Failed cycles`."""
PLURAL: Final = re.compile(r"(?:es|en|s|n|e|i)$")
ABBREVIATED: Final = re.compile(r"\b([^\W\d_]{3,6})\.(?=[,;:|)]| [a-z\d|(])")
"""A word that goes on after its full stop, such as `max.`."""
ASKING: Final = re.compile(
    r"\W*(?:who|what|when|where|which|how|wer|was|wann|wo|wie|welche[rs]?|qui|quoi|quand|où|combien|comment|quién|qué"
    r"|cuándo|dónde|cuánto|cómo|chi|cosa|quando|dove|quanto|come|wat|wanneer|waar|hoe|quem|onde)\b(?!.*\b(?:not|never)\b)",
    re.IGNORECASE,
)
"""A cell of a table's head that names what its column has: `Who gives notice`, `Where it lives`. Its words may be
new."""
LABEL: Final = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\*\*|__)[^*_\n]{1,80}?:?(?:\*\*|__)\s*:?\s*")
"""A line that is only a bold label, alone or as a list item: a heading without its mark."""
LEVEL: Final = re.compile(r"\s*(#{1,6})\s")
ITEMS: Final = frozenset({SegmentKind.LIST_ITEM, SegmentKind.TABLE_ROW, SegmentKind.CODE})
LONGEST_READ: Final = 20_000
"""The characters by which the language of an answer is known."""
LABEL_LEVEL: Final = 7
"""The level of a bold label: under every heading."""
TABLE_HEAD: Final = 8
"""The level of a table's head: under every label."""


class Part(NamedTuple):
    """Whether a segment needs a citation, and the anchors of what it heads."""

    needs_citation: bool
    heads: tuple[str, ...]


class _Items(NamedTuple):
    """The items from a segment on: whether there are any, whether all are cited, and the known anchors they cite."""

    any: bool
    all_cited: bool
    anchors: frozenset[str]


NO_ITEMS: Final = _Items(any=False, all_cited=True, anchors=frozenset())


def read_parts(
    segments: Sequence[Segment],
    anchors: Sequence[tuple[str, ...]],
    chunks: Mapping[str, str] | None,
    question: str,
    version: int,
) -> list[Part]:
    """Return for each segment whether it needs a citation, and what it heads.

    Args:
        segments: The segments of the answer.
        anchors: The anchors that each of them cites.
        chunks: The text of each chunk by its anchor. None: unknown, so that each heading counts as a title.
        question: The question.
        version: The number of the validation contract.

    Returns:
        One part for each segment.
    """
    known = frozenset(chunks or ())
    items = _read_items(segments, anchors, known, version)
    sections = _read_sections(segments, anchors, known)
    language = foreign_language(" ".join(segment.text for segment in segments)[:LONGEST_READ])
    parts = []
    for index, segment in enumerate(segments):
        words = re.sub(r"[\W_]+", " ", segment.text).strip().casefold()
        heads: frozenset[str] = frozenset()
        if segment.kind is SegmentKind.HEADING or (version >= SECOND and _is_label(segment)):
            heads = sections[index]
            below = items[index + 1]
            exempt = (
                version < SECOND
                or chunks is None
                or not words
                or (_is_label(segment) and _leads_in(segment) and below.any and below.all_cited)
                or _states_nothing(segment.text, [chunks[anchor] for anchor in heads], question, language)
            )
        elif not words or words in CONNECTIVES:
            exempt = True
        else:
            below = items[index + 1]
            is_lead = _leads_in(segment) or (
                version >= SECOND
                and _is_title(segment)
                and _states_nothing(
                    segment.text, [(chunks or {})[anchor] for anchor in below.anchors], question, language
                )
            )
            exempt = is_lead and below.any and below.all_cited
            heads = items[index + 1].anchors if exempt else heads
            if version >= SECOND and segment.kind is SegmentKind.CODE and index and not anchors[index]:
                # code cannot hold a citation, so that of its lead-in counts
                exempt = _leads_in(segments[index - 1]) and bool(anchors[index - 1])
                heads = known.intersection(anchors[index - 1]) if exempt else heads
        parts.append(Part(not exempt, tuple(sorted(heads))))
    return parts


def _read_items(
    segments: Sequence[Segment], anchors: Sequence[tuple[str, ...]], known: frozenset[str], version: int
) -> list[_Items]:
    """Return for each segment the run of items that begins at it, over headings between them; read from the end."""
    runs = [NO_ITEMS]
    for segment, cited in zip(reversed(segments), reversed(anchors), strict=True):
        if segment.kind in ITEMS:
            is_cited = bool(cited) or segment.text.rstrip().endswith(":") or (version >= SECOND and _is_label(segment))
            new = known.intersection(cited)
            last = runs[-1]
            joint = last.anchors if new <= last.anchors else last.anchors | new
            runs.append(_Items(any=True, all_cited=last.all_cited and is_cited, anchors=joint))
        elif segment.kind is not SegmentKind.HEADING:
            runs.append(NO_ITEMS)
        else:
            runs.append(runs[-1])
    return runs[::-1]


def _read_sections(
    segments: Sequence[Segment], anchors: Sequence[tuple[str, ...]], known: frozenset[str]
) -> list[frozenset[str]]:
    """Return for each heading the known anchors down to the next heading of its level, for others nothing."""
    below: list[frozenset[str]] = [frozenset()] * (TABLE_HEAD + 1)
    sections = []
    for segment, cited in zip(reversed(segments), reversed(anchors), strict=True):
        level = _level(segment)
        new = known.intersection(cited)
        sections.append(below[level] | new if level else frozenset())
        for number in range(1, TABLE_HEAD + 1):
            if level and number >= level:
                below[number] = frozenset()
            elif not new <= below[number]:
                below[number] |= new
        if segment.kind is not SegmentKind.TABLE_ROW:
            below[TABLE_HEAD] = frozenset()
    return sections[::-1]


def _is_label(segment: Segment) -> bool:
    return segment.kind is not SegmentKind.TABLE_ROW and LABEL.fullmatch(segment.text) is not None


def _leads_in(segment: Segment) -> bool:
    return CITATION.sub("", segment.text).rstrip(" \n*_").endswith((":", "："))


def _is_title(segment: Segment) -> bool:
    """Return whether a line has the form of a heading: few words and no end of a sentence."""
    is_short = len(segment.text.split()) <= MAX_HEADING_WORDS
    return is_short and segment.kind is SegmentKind.SENTENCE and not STATEMENT_END.search(segment.text)


def _level(segment: Segment) -> int:
    if _is_label(segment):
        return LABEL_LEVEL
    if segment.kind is not SegmentKind.HEADING:
        return 0
    marks = LEVEL.match(segment.text)
    return len(marks[1]) if marks else TABLE_HEAD


def _states_nothing(heading: str, chunks: Sequence[str], question: str, language: str | None) -> bool:
    text = CITATION.sub(" ", heading).lstrip("#*_ \t").replace("’", "'")
    labels = text.split("|")
    labels = [label for label in labels if len(labels) == 1 or not ASKING.match(label)]
    if any(map(_has_verb, labels)):
        return False
    text = " ".join(labels)
    words = {word for word in _content(text) if any(map(str.isalpha, word)) and not is_unit(word)}
    words = {word for word in words if word not in TITLE_WORDS and PLURAL.sub("", word) not in TITLE_WORDS}
    if not words:
        return True
    known = _content(question).union(*map(_content, chunks))
    known |= _content(" ".join(known))  # `speed` of `speeds` loses its end too
    families = {word[:FAMILY] for word in known}
    unknown = {word for word in words - known if len(word) < FAMILY or word[:FAMILY] not in families}
    if language and unknown:
        unknown -= _translated(text, language, known)
    short = {match[1].casefold() for chunk in chunks for match in ABBREVIATED.finditer(chunk)}
    return all(word.startswith(tuple(short)) or _ends_compound(word, chunks) for word in unknown)


def _translated(heading: str, language: str, known: Set[str]) -> frozenset[str]:
    """Return the words of a heading whose English words are known or general: `Probe` where a source has `sample`."""
    held = known | TITLE_WORDS
    read = {form: read_meanings(language, form) for form in WORD.findall(heading)}
    return frozenset().union(
        *(
            _content(form)
            for form, parts in read.items()
            if parts and all(any(_content(english) <= held for english in part) for part in parts)
        )
    )


def _has_verb(label: str) -> bool:
    """Return whether a heading or a cell of one states something by a verb."""
    label = label.strip("*_ \t")
    first = NO_VERB_FIRST.match(label)
    return bool(FINITE_VERBS.search(label, first.end() if first else 0))


def _ends_compound(word: str, chunks: Sequence[str]) -> bool:
    """Return whether a word of a heading ends a compound of German chunks: `Gebühr` of `Jahresgebühr`."""
    german = [chunk for chunk in chunks if language_of([each.form for each in read_passage(chunk).words]) == "de"]
    return len(word) >= FAMILY and any(each.endswith(word) for chunk in german for each in _content(chunk))


@lru_cache(maxsize=512)
def _content(text: str) -> frozenset[str]:
    return content_words(text)
