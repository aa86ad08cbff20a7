"""Makes further statements of labelled ones: shorter or reworded ones that stay true, and ones with a small change.

The synthetic statements of the data are mostly copies of a sentence with or without a change. Models reword what they
read, so changes are made here to reworded statements too: natural claims, and sentences without some of their words.
Changes to statements of language models are for measuring only.
"""

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from data import MODEL_ANSWERS, SHIPPABLE, Example, read_examples
from questions import Asked, read_questions

from sourcebound.contracts.validation.support.word_lists import PAIRS

OPPOSITES: Final = {
    one: other
    for pair in reversed(PAIRS.replace("\n", " ").split(";"))
    for first, second in [pair.split()]
    for one, other in ((first, second), (second, first))
}
REWORDINGS: Final = {
    "located": "situated", "began": "started", "begin": "start", "approximately": "about", "large": "big",
    "used": "employed", "uses": "employs", "show": "indicate", "shows": "indicates", "showed": "indicated",
    "help": "assist", "helps": "assists", "many": "numerous", "often": "frequently", "also": "", "however": "",
    "such as": "like", "in order to": "to", "due to": "because of", "because": "since", "near": "close to",
    "made": "produced", "received": "got", "became": "turned into", "main": "primary", "important": "significant",
    "several": "a number of", "during": "in the course of", "known as": "called",
    "associated with": "linked to", "patients": "people", "children": "kids", "obtain": "get", "need": "require",
    "needs": "requires", "allows": "lets", "contains": "has", "includes": "has", "consists of": "is made up of",
    "which": "that", "is": "remains", "can": "is able to",
}  # fmt: skip
AUXILIARY: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|might|should|must|does|did|do)\b(?! not|n't)"
)
NEGATION: Final = re.compile(r"\b(?:not|never)\s|n't\b")
NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: (?:of |the )?[A-Z][\w'-]+){0,3}")
NUMBER: Final = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")
PARENTHESIS: Final = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
LEAD: Final = re.compile(r"^[A-Z][^,.;]{3,70}, (?=\w)")
TAIL: Final = re.compile(
    r"(?:,|;| -|—) (?:which|who|and|but|although|while|where|with|including|such as|as|or) [^.]{12,}(?=\.?$)"
)
JOINT: Final = re.compile(r" and [^,.]{15,}(?=\.?$)")
WORD: Final = re.compile(r"[A-Za-z-]+")
PER_KIND: Final = 900
"""The most statements of a kind that are made."""


def read_all(folder: Path) -> list[Example]:
    """Read the labelled statements and make further ones, the same ones each time."""
    examples = read_examples(folder)
    natural = [e for e in examples if e.source in SHIPPABLE and e.supported]
    copies = [e for e in examples if e.ships and e.source in ("synthetic/verbatim", "synthetic/paraphrase")]
    reworded = [made for e in copies for made in reword(e)]
    declared = [declare(asked) for asked in read_questions(folder) if asked.answers and asked.short]
    models = [e for e in examples if e.source in MODEL_ANSWERS and e.supported and not e.is_talk]
    changed = [made for e in (*natural, *reworded, *declared) for made in change(e, "made")]
    measured = [made for e in models for made in change(e, "model")]
    return [*examples, *reworded, *declared, *_limit(changed), *_limit(measured)]


def change(example: Example, prefix: str) -> Iterator[Example]:
    """Yield a statement with each small change that it has a place for."""
    draw = random.Random(example.id)
    text, evidence = example.statement, " ".join(example.texts)
    made = {
        "negation": _negate(text),
        "opposite": _oppose(text, draw),
        "number": _replace(text, NUMBER, [*NUMBER.findall(evidence), str(draw.randint(2, 99))], draw),
        "name": _replace(text, NAME, NAME.findall(evidence), draw),
        "roles": _exchange(text, NAME, draw),
        "numbers": _exchange(text, NUMBER, draw),
    }
    for kind, changed in made.items():
        if changed and changed != text:
            yield example._replace(
                id=f"{example.id}/{kind}", source=f"{prefix}/{kind}", statement=changed, supported=False
            )


def _negate(text: str) -> str:
    if NEGATION.search(text):
        return NEGATION.sub(" ", text, count=1).replace("  ", " ")
    return AUXILIARY.sub(lambda match: f"{match[0]} not", text, count=1)


def _oppose(text: str, draw: random.Random) -> str:
    places = [match for match in WORD.finditer(text) if match[0] in OPPOSITES and len(match[0]) > 3]
    if not places:
        return ""
    match = draw.choice(places)
    return text[: match.start()] + OPPOSITES[match[0]] + text[match.end() :]


def _replace(text: str, pattern: re.Pattern[str], others: Sequence[str], draw: random.Random) -> str:
    places = list(pattern.finditer(text))
    others = sorted({other for other in others if other not in text})
    if not places or not others:
        return ""
    match = draw.choice(places)
    return text[: match.start()] + draw.choice(others) + text[match.end() :]


def _exchange(text: str, pattern: re.Pattern[str], draw: random.Random) -> str:
    places = list(pattern.finditer(text))
    if len({match[0] for match in places}) < 2:
        return ""
    first, second = sorted(draw.sample(places, 2), key=lambda match: match.start())
    if first[0] == second[0]:
        return ""
    return text[: first.start()] + second[0] + text[first.end() : second.start()] + first[0] + text[second.end() :]


def reword(example: Example) -> Iterator[Example]:
    """Yield a copied sentence without a part, and with other words for some that change nothing."""
    draw = random.Random(example.id)
    text = example.statement
    for pattern in draw.sample([PARENTHESIS, LEAD, TAIL, JOINT], 2):
        shorter = pattern.sub("", text, count=1)
        if len(shorter.split()) >= 5:
            text = shorter
    for old, new in draw.sample(sorted(REWORDINGS.items()), len(REWORDINGS) // 2):
        text = re.sub(rf"\b{old}\b", new, text, count=1)
    text = re.sub(r"\s+", " ", text).strip()
    if text and text != example.statement:
        text = text[0].upper() + text[1:]
        yield example._replace(id=f"{example.id}/reworded", source="made/reworded", statement=text)


def declare(asked: Asked) -> Example:
    """Return a question with its answer in the place of the word that asks, as people ask in their own words."""
    body = asked.question.strip().rstrip("?").strip()
    text = re.sub(r"^(?:who|whom|whose|what|which|when|where|how many|how much)\b", asked.short, body, flags=re.I)
    if text == body:
        text = f"{body} {asked.short}"
    return Example(
        id=f"{asked.group}/{asked.question}",
        source="made/declared",
        group=asked.group,
        part=asked.part,
        ships=True,
        question="",
        previous="",
        statement=re.sub(r"\b(?:did|does|do) ", "", text, count=1) + ".",
        texts=(asked.text,),
        supported=True,
        is_talk=False,
    )


def _limit(examples: list[Example]) -> Iterator[Example]:
    """Yield at most `PER_KIND` statements of each kind and part, drawn evenly."""
    kinds: dict[tuple[str, str], list[Example]] = {}
    for example in examples:
        kinds.setdefault((example.source, example.part), []).append(example)
    for made in kinds.values():
        yield from sorted(random.Random(0).sample(made, min(PER_KIND, len(made))), key=lambda e: e.id)
