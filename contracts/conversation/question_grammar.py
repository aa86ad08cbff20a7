"""A shallow grammar of English questions, as far as follow-ups need it; there is no parser.

*Marks* distinguish things of one kind: HP-200 among pumps, C among revisions, 2023 among years. *Phrases* are the parts
of a question between prepositions and the verb. The *topic* is the antecedent of `it`. Anything ambiguous is not read,
so that nothing depends on a guess.
"""

import re
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.identifiers import read_identifiers

MONTHS: Final = "january february march april may june july august september october november december".split()
LABELS: Final = (
    "model revision rev version type class grade size step section chapter appendix annex table figure phase level "
    "zone line unit batch edition series category stage mode option variant lot train loop product article clause item "
    "form code room tank site plant quarter".split()
)
LABELLED: Final = re.compile(
    rf"\b({'|'.join(LABELS)})\.?\s+(?:no\.?\s+|number\s+)?([A-Za-z]|\d+(?:\.\d+)*|[IVX]{{2,}})(?![\w/-]|\.\d)",
    re.IGNORECASE,
)
SPACED: Final = re.compile(r"(?<![\w-])([A-Z]{2,})\s(\d[\w-]*)(?![\w.])")
YEAR: Final = re.compile(r"(?<![\w.,/-])(?:19|20)\d\d(?![\w/-]|[.,]\d)")
MONTH: Final = re.compile(rf"\b(?:{'|'.join(month.title() for month in MONTHS)})\b")
TOKEN: Final = re.compile(r"[^\s,;:()?!]+|[,;:()?!]")
DETERMINERS: Final = frozenset("the a an this that these those my our your its their any each every".split())
PREPOSITIONS: Final = frozenset(
    "of for on in at under during after before without with within above below against by per from to into between "
    "through over since until via around across along inside outside near".split()
)
AUXILIARIES: Final = frozenset(
    "is are was were be been being am must shall should can could may might will would do does did has have had need "
    "needs isn't aren't doesn't don't didn't can't cannot won't shouldn't mustn't".split()
)
QUESTION_WORDS: Final = frozenset("what which who whom whose when where why how what's who's where's how's".split())
PRONOUNS: Final = frozenset(
    "i you he she it we they me him her us them its their theirs his hers one ones this that these those there here "
    "myself yourself itself themselves it's they're mine yours ours".split()
)
JOINING: Final = frozenset(
    "and or but if while because although unless than as so whether not nor then also when who which that "
    ", ; : ( )".split()
)
PARTICIPLES: Final = frozenset(
    "held kept made set put built found given taken shown done sent read worn cut run lost drawn driven written chosen "
    "broken torn left met paid sold told known hung bent laid fed led bought brought caught got gone "
    "begun spent".split()
)

NOUNS_IN_LY: Final = frozenset("assembly supply family anomaly reply subassembly".split())


class Mark(NamedTuple):
    """A value that distinguishes a thing within its family."""

    family: str
    written: str
    start: int
    end: int


class Phrase(NamedTuple):
    """A noun phrase of a question, with the preposition before it and its place."""

    preposition: str
    text: str
    start: int
    end: int


def read_marks(text: str) -> list[Mark]:
    """Read identifiers by their letters, labelled values by their label, years and months: in order, once each."""
    found = [_identifier(literal.text, literal.start) for literal in read_identifiers(text)]
    found += [_identifier(match[0], match.start()) for match in SPACED.finditer(text)]
    found += [Mark(f"label {_label(m[1])}", m[2], m.start(2), m.end(2)) for m in LABELLED.finditer(text)]
    found += [Mark("year", m[0], m.start(), m.end()) for m in YEAR.finditer(text)]
    found += [Mark("month", m[0], m.start(), m.end()) for m in MONTH.finditer(text)]
    ordered = sorted(found, key=lambda mark: (mark.start, -mark.end))
    return [mark for n, mark in enumerate(ordered) if all(mark.start >= before.end for before in ordered[:n])]


def is_identifier(mark: Mark) -> bool:
    """Whether a mark is the name of a thing, not a labelled value or a date."""
    return mark.family.startswith("identifier ")


def shape(mark: Mark) -> str:
    """Return the shape of an identifier: `HP-200` and `WFI-1` have the same shape, `SB-2024-07` has another."""
    return re.sub(r"[\W_]+", "-", re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", mark.written)))


def words(text: str) -> list[str]:
    """Return the tokens of a text in lower case."""
    return [token.casefold() for token in TOKEN.findall(text)]


def is_noun_phrase(text: str) -> bool:
    """Whether a text holds no obvious verb, pronoun, preposition or start of a clause."""
    tokens = words(text)
    inner = tokens[1:] if tokens and tokens[0] in DETERMINERS else tokens
    valued = zip(["", *inner], inner, strict=False)
    inner = [word for before, word in valued if before not in LABELS or len(word) > 1]  # class A
    closed = DETERMINERS | PREPOSITIONS | AUXILIARIES | QUESTION_WORDS | PRONOUNS | JOINING
    adverb = bool(inner) and inner[-1].endswith("ly") and inner[-1] not in NOUNS_IN_LY
    return 0 < len(inner) <= 5 and not closed & set(inner) and not adverb


def read_phrases(text: str, start: int = 0, preposition: str = "") -> list[Phrase]:
    """Read the phrases from a position on, up to the verb or any other end of noun phrases.

    Args:
        text: A question without its question mark.
        start: The start of the first phrase.
        preposition: The preposition before it.

    Returns:
        The phrases in order; none if one of them is not obviously a noun phrase.
    """
    phrases: list[Phrase] = []
    begin, end = start, start
    tokens = [*TOKEN.finditer(text, start)]
    for number, token in enumerate(tokens):
        word, following = token[0].casefold(), tokens[number + 1][0] if number + 1 < len(tokens) else ""
        if word in AUXILIARIES | JOINING | QUESTION_WORDS or _is_participle(word, following):
            break
        if word in PREPOSITIONS:
            phrases.append(Phrase(preposition, text[begin:end], begin, end))
            preposition, begin = word, token.end() + 1
        end = token.end()
    phrases.append(Phrase(preposition, text[begin:end], begin, end))
    return phrases if all(is_noun_phrase(phrase.text) for phrase in phrases) else []


def is_plural(phrase: str) -> bool:
    """Whether a noun phrase is obviously plural."""
    tokens = words(phrase)
    return "and" in tokens or (tokens[-1].endswith("s") and not tokens[-1].endswith(("ss", "us", "is")))


def _is_participle(word: str, following: str) -> bool:
    """Whether a word ends the subject; before a noun, `closed` is an adjective (`the closed valve`)."""
    if not (word in PARTICIPLES or (word.endswith("ed") and len(word) > 4)):
        return False
    return not following or following.casefold() in PREPOSITIONS | JOINING | AUXILIARIES | DETERMINERS


def _identifier(written: str, start: int) -> Mark:
    letters = re.match(r"[^\W\d_]*", written)
    return Mark(f"identifier {letters[0].casefold() if letters else ''}", written, start, start + len(written))


def _label(word: str) -> str:
    return "revision" if word.casefold() == "rev" else word.casefold()
