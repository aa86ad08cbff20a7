"""Ten thousand answers with one thing wrong: the firewall lets none of them through (R5-1 … R5-8)."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

import pytest

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.text.segments import segment
from sourcebound.contracts.validation.firewall import validate
from support.builders import answer_bundle, enforcing_policy
from support.places import ROOT

SOURCES: Final = ROOT / "examples" / "sources"
CHUNKS = 3
MUTATED = 4
"""Every how many answers one is mutated."""
SEED = 20251121
EMPTY, REFUSED, MALFORMED = "EMPTY_ANSWER", "INVALID_REFUSAL_FORMAT", "MALFORMED_CITATION"
INVENTED, UNCITED, FORBIDDEN = "INVALID_CITATION_REFERENCE", "UNCITED_FACTUAL_STATEMENT", "FORBIDDEN_CONTENT"
UNSUPPORTED = "UNSUPPORTED_LITERAL"
NOT_CITED = (UNCITED, MALFORMED, UNSUPPORTED)
"""A statement whose citation is gone may have joined its neighbour, whose source does not hold its literals."""

FORMS: Final = (
    "[c{n}]", "(C{n})", "(c{n})", "{{C{n}}}", "<C{n}>", "[C {n}]", "[ C{n}]", "[C{n} ]", "[ C{n} ]", "[C-{n}]",
    "[C−{n}]", "[C+{n}]", "[C0{n}]", "[C00{n}]", "[C{n}, C{m}]", "[C{n},C{m}]", "[C{n},{m}]", "[C{n}, {m}]",
    "[C{n}-C{m}]", "[C{n}–C{m}]", "[C{n}-{m}]", "[C{n};C{m}]", "[C{n}; C{m}]", "[C{n} and C{m}]",
    "[C{n} & C{m}]", "[C{n}/C{m}]", "[C{n}|C{m}]", "[C{n} C{m}]", "(C{n}, C{m})", "［C{n}］", "【C{n}】", "〔C{n}〕",
    "⟦C{n}⟧", "〈C{n}〉", "《C{n}》", "「C{n}」", "『C{n}』", "（C{n}）", "｛C{n}｝", "«C{n}»", "‹C{n}›", "[С{n}]",
    "[с{n}]", "[Ｃ{n}]", "[ｃ{n}]", "[Ϲ{n}]", "[ϲ{n}]", "[ℂ{n}]", "[Ⅽ{n}]", "[𝐂{n}]", "[𝖢{n}]", "[C{full}]",
    "[C{arabic}]", "[C{hindi}]", "[C{low}]", "[C{high}]", "[C_{n}]", "[C.{n}]", "[C:{n}]", "[C#{n}]", "[^C{n}]",
    "[#C{n}]", "[C{n}.]", "[C{n},]", "[C{n}:]", "[C{n}?]", "[C{n}*]", "[C{n}a]", "[C{n}.{m}]", "[C{n}", "C{n}]",
    "[C{n})", "(C{n}]", "[C{n}}}", "[C#]", "[C]", "[Cn]", "[CX]", "[C?]", "[Citation {n}]", "[citation: {n}]",
    "[Source {n}]", "[source: {n}]", "[Source: C{n}]", "[Ref {n}]", "[ref. {n}]", "[Chunk {n}]", "[see C{n}]",
    "[cf. C{n}]", "[C{n}, p. 4]", "[C{n} p. 4]", "[C{n}: manual]", "[C\u200b{n}]", "[\u200bC{n}]",
    "[C{n}\u200b]", "[C\u00ad{n}]", "[C\u2060{n}]", "[C\u00a0{n}]", "[C\u0301{n}]", "[C\n{n}]", "\\[C{n}\\]",
    "[**C{n}**]", "[`C{n}`]", "[_C{n}_]", "[\"C{n}\"]", "['C{n}']", "[C={n}]", "[C~{n}]", "[anchor C{n}]",
    "[Evidence C{n}]", "【C{n}†source】", "[C{n}†]", "[[c{n}]]",
)  # fmt: skip
"""Citations that are not: R5-3's own list, and what models and keyboards make of it."""
NO_CITATION: Final = ("", "[{n}]", "({n})", "C{n}", "^{n}", "¹", "[x]", "(source)", "— the manual", "[]", "*", "†")
"""What names no anchor at all, so that its statement is without a citation."""
UNCITED_SENTENCES: Final = (
    "The motor is painted green.", "It is safe.", "Yes.", "This is important!", "Is it open?", "Der Motor ist grün.",
    "Le moteur est vert.", "El motor es verde.", "Il motore è verde.", "De motor is groen.", "O motor é verde.",
    "Silnik jest zielony.", "Мотор зелёный.", "Ο κινητήρας είναι πράσινος.", "电机是绿色的。", "モーターは緑色です。",
    "모터는 녹색입니다.", "المحرك أخضر.", "मोटर हरी है।", "המנוע ירוק.", "Motor yeşildir.", "**The motor is green.**",
    "- The motor is green.", "1. The motor is green.", "> The motor is green.", "| motor | green |",
    "Open valve B.", "It weighs more, e.g. when wet.", "It was made by Acme Inc.", "Keep it dry…",
)  # fmt: skip
HALF_REFUSALS: Final = (
    REFUSAL, REFUSAL.lower(), REFUSAL[:-1], f"**{REFUSAL}**", "NO_EVIDENCE", "NO_EVIDENCE:", "No evidence found.",
    "I cannot answer this question.", "I'm sorry, but I do not know.", "The provided documents do not contain this.",
    "There is not enough information.", "Ich kann diese Frage nicht beantworten.", "我无法回答这个问题。",
    "Je ne peux pas répondre à cette question.", "Я не могу ответить на этот вопрос.",
)  # fmt: skip
REASONING: Final = (
    "<think>", "</think>", "<think>Easy.</think>", "<thinking>", "</thinking >", "<THINK>", "< reasoning >",
    "<scratchpad>", "<analysis id='1'>", "＜think＞", "<reflection/>", "<thought>",
)  # fmt: skip
PROMPT_TALK: Final = (
    "According to the evidence,", "Based on the provided evidence,", "The evidence states that", "Evidence:",
    "=== EVIDENCE ===", "=== USER QUESTION ===", "=== OUTPUT REQUIREMENTS ===", "As the given Evidence says,",
)  # fmt: skip
UNITS: Final = (
    ("°C", "°F"), ("mm", "cm"), ("bar", "psi"), ("minutes", "seconds"), ("hours", "minutes"), ("days", "weeks"),
    ("kg", "g"), ("%", "ppm"), ("N·m", "kN"), ("litres", "ml"), ("V", "mV"), ("l/min", "l/h"),
    ("months", "years"), ("weeks", "days"), ("m", "km"), ("kW", "W"), ("ml", "l"), ("µm", "mm"), ("rpm", "Hz"),
)  # fmt: skip
ADDED: Final = (
    "which takes 31.7 minutes", "which takes 4711 minutes", "for three hundred and seven hours", "on 29 February 2016",
    "see https://example.net/x", 'as in "nobody wrote these words"', "as on QX-99417",
)  # fmt: skip
"""Literals that no chunk holds."""


class Base(NamedTuple):
    """A valid answer: a sentence of each chunk, each with its citation."""

    bundle: AnswerBundle
    sentences: tuple[str, ...]

    def text(self, *pieces: str) -> str:
        """The answer, or one of other pieces."""
        return " ".join(pieces or tuple(f"{sentence} [C{index}]" for index, sentence in enumerate(self.sentences)))

    def changed(self, index: int, sentence: str, citation: str | None = None) -> str:
        """The answer with another sentence or citation at one place."""
        pieces = [f"{text} [C{number}]" for number, text in enumerate(self.sentences)]
        pieces[index] = f"{sentence} {f'[C{index}]' if citation is None else citation}".rstrip()
        return self.text(*pieces)


class Mutant(NamedTuple):
    """An answer with one thing wrong, and the codes that may name it."""

    kind: str
    text: str
    codes: tuple[str, ...]


def _chunks() -> list[str]:
    """The paragraphs of the example sources that are prose of at least two sentences."""
    found = []
    for path in sorted(SOURCES.glob("*.md")):
        for paragraph in re.split(r"\n\s*\n", path.read_text("utf-8")):
            text = " ".join(paragraph.split())
            if not re.match(r"[#|>*\-\d`]", text) and len(_sentences(text)) >= 2:
                found.append(text)
    return found


def _sentences(text: str) -> list[str]:
    return [part.text for part in segment(text) if len(part.text.split()) >= 5 and part.text.endswith(".")]


@cache
def bases() -> tuple[Base, ...]:
    """Valid answers over realistic bundles, the same in every run."""
    chooser, chunks = random.Random(SEED), _chunks()
    found = []
    for start in range(0, len(chunks) - CHUNKS + 1):
        texts = chunks[start : start + CHUNKS]
        sentences = tuple(chooser.choice(_sentences(text)) for text in texts)
        found.append(Base(answer_bundle(*texts), sentences))
    return tuple(found)


def _bad_anchors(base: Base, chooser: random.Random) -> Iterator[Mutant]:
    for number in (CHUNKS, 7, 10, 99, 10**12):
        index = chooser.randrange(CHUNKS)
        yield Mutant("invented", base.changed(index, base.sentences[index], f"[C{number}]"), (INVENTED,))
        yield Mutant(
            "invented beside", base.changed(index, base.sentences[index], f"[C{index}] [C{number}]"), (INVENTED,)
        )


def _bad_citations(base: Base, chooser: random.Random) -> Iterator[Mutant]:
    for form in FORMS:
        index = chooser.randrange(CHUNKS)
        shown = form.format(
            n=index, m=(index + 1) % CHUNKS, full=chr(0xFF10 + index), arabic=chr(0x660 + index),
            hindi=chr(0x966 + index), low=chr(0x2080 + index), high="⁰¹²"[index],
        )  # fmt: skip
        sentence = base.sentences[index]
        yield Mutant(f"malformed {form!r}", base.changed(index, sentence, shown), (MALFORMED, UNCITED))
        yield Mutant(f"malformed beside {form!r}", base.changed(index, sentence, f"[C{index}] {shown}"), (MALFORMED,))
    for form in NO_CITATION:
        index = chooser.randrange(CHUNKS)
        yield Mutant(
            f"no citation {form!r}", base.changed(index, base.sentences[index], form.format(n=index)), NOT_CITED
        )


def _moved_citations(base: Base, _: random.Random) -> Iterator[Mutant]:
    for index in range(CHUNKS):
        others = [f"{text} [C{number}]" for number, text in enumerate(base.sentences) if number != index]
        bare = base.sentences[index]
        yield Mutant("moved forward", base.text(bare, others[0] + f" [C{index}]", *others[1:]), (UNCITED,))
        yield Mutant("moved back", base.text(*others[:-1], others[-1] + f" [C{index}]", bare), (UNCITED,))
        yield Mutant("moved into", base.text(bare, f"[C{index}] ".join(others[:1]), *others[1:]).rstrip(), (UNCITED,))
    yield Mutant("all at the end", base.text(*base.sentences, "[C0] [C1] [C2]"), (UNCITED,))
    yield Mutant("all at the beginning", base.text("[C0] [C1] [C2]", *base.sentences), (UNCITED,))
    yield Mutant("citations alone", "[C0] [C1] [C2]", (EMPTY,))


def _uncited(base: Base, chooser: random.Random) -> Iterator[Mutant]:
    for sentence in UNCITED_SENTENCES:
        line = chooser.choice(["\n", "\n\n", "\r\n"])
        inline = not sentence.startswith(("- ", "1. ", "> ", "|"))
        yield Mutant(f"uncited after {sentence!r}", f"{base.text()}{' ' if inline else line}{sentence}", (UNCITED,))
        yield Mutant(f"uncited before {sentence!r}", f"{sentence}{' ' if inline else line}{base.text()}", (UNCITED,))
        yield Mutant(f"uncited line {sentence!r}", f"{base.text()}{line}{sentence}{line}{base.text()}", (UNCITED,))


def _refusals(base: Base, chooser: random.Random) -> Iterator[Mutant]:
    for refusal in HALF_REFUSALS:
        between = chooser.choice([" ", "\n", "\n\n"])
        yield Mutant(f"refusal after {refusal!r}", f"{base.text()}{between}{refusal}", (REFUSED,))
        yield Mutant(f"refusal before {refusal!r}", f"{refusal}{between}{base.text()}", (REFUSED,))
        yield Mutant(f"cited refusal {refusal!r}", f"{base.text()} {refusal} [C0]", (REFUSED,))


def _forbidden(base: Base, chooser: random.Random) -> Iterator[Mutant]:
    for mark in REASONING:
        index = chooser.randrange(CHUNKS)
        sentence = base.sentences[index]
        yield Mutant(f"reasoning {mark!r}", f"{mark} {base.text()}", (FORBIDDEN, UNCITED))
        yield Mutant(f"reasoning within {mark!r}", base.changed(index, f"{mark}{sentence}"), (FORBIDDEN, UNCITED))
    for talk in PROMPT_TALK:
        index = chooser.randrange(CHUNKS)
        sentence = base.sentences[index]
        between = "\n" if talk.startswith("=") else " "
        yield Mutant(f"prompt {talk!r}", base.changed(index, f"{talk}{between}{sentence}"), (FORBIDDEN, UNCITED))
    for chunk in base.bundle.selected_evidence:
        index = chooser.randrange(CHUNKS)
        sentence = base.sentences[index].removesuffix(".")
        for name in (chunk.chunk_id, chunk.knowledge_id, chunk.chunk_id.upper()):
            yield Mutant("id", base.changed(index, f"{sentence}, see {name}."), (FORBIDDEN,))
            yield Mutant("id in brackets", base.changed(index, f"{sentence} ({name})."), (FORBIDDEN, MALFORMED))
        header = f"[{chunk.anchor} | chunk_id={chunk.chunk_id} | knowledge_id={chunk.knowledge_id} | source=manual.pdf]"
        yield Mutant("header", f"{header}\n{base.text()}", (FORBIDDEN, MALFORMED, UNCITED))
        yield Mutant("header cut", f"[{chunk.anchor} | {base.text()}", (FORBIDDEN, MALFORMED, UNCITED))


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


def _literals(base: Base, chooser: random.Random) -> Iterator[Mutant]:
    for index, sentence in enumerate(base.sentences):
        chunk = base.bundle.selected_evidence[index].sanitized_text
        changed = [*_digits(sentence, chunk, chooser), *_units(sentence, chunk), *_identifiers(sentence, chunk)]
        bare = sentence.removesuffix(".")
        changed.extend(("added", f"{bare}, {added}.") for added in ADDED)
        for kind, text in changed:
            yield Mutant(kind, base.changed(index, text), (UNSUPPORTED,))


def _digits(sentence: str, chunk: str, chooser: random.Random) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"\d+", sentence):
        place = chooser.randrange(match.start(), match.end())
        for digit in chooser.sample("123456789", 3):
            other = sentence[match.start() : place] + digit + sentence[place + 1 : match.end()]
            if int(other) > 12 and other not in re.findall(r"\d+", chunk):
                yield "digit", sentence[: match.start()] + other + sentence[match.end() :]


def _units(sentence: str, chunk: str) -> Iterator[tuple[str, str]]:
    for unit, other in UNITS:
        pattern = re.compile(rf"(?<=\d )({re.escape(unit)})(?![\w/·])")
        if pattern.search(sentence) and not re.search(rf"(?<!\w){re.escape(other)}(?!\w)", chunk):
            yield f"unit {unit}", pattern.sub(other, sentence, count=1)


def _identifiers(sentence: str, chunk: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"\b([A-Z]{1,5})-(\d+)\b", sentence):
        for other in (f"{match[1]}-{int(match[2]) + 100}", f"Q{match[1]}-{match[2]}", f"{match[1]}-{match[2]}B"):
            if other not in chunk:
                yield "identifier", sentence[: match.start()] + other + sentence[match.end() :]


MUTATORS: Final[tuple[Callable[[Base, random.Random], Iterator[Mutant]], ...]] = (
    _bad_anchors, _bad_citations, _moved_citations, _uncited, _refusals, _forbidden, _literals,
)  # fmt: skip


@pytest.mark.contract("R5-13")
def test_every_answer_without_a_mutation_passes() -> None:
    assert len(bases()) >= 60
    rejected = [(base.text(), validate(base.text(), base.bundle, enforcing_policy())) for base in bases()]
    assert [(text, verdict.outcome.violations) for text, verdict in rejected if verdict.failure_reason] == []


@pytest.mark.contract("R5-2")
@pytest.mark.contract("R5-3")
@pytest.mark.contract("R5-4")
@pytest.mark.contract("R5-6")
@pytest.mark.contract("R5-7")
@pytest.mark.contract("R5-8")
def test_no_mutated_answer_is_accepted_and_each_is_rejected_for_what_is_wrong() -> None:
    chooser, rules, counted = random.Random(SEED), enforcing_policy(), Counter[str]()
    accepted: list[Mutant] = []
    misnamed: list[tuple[str | None, Mutant]] = []
    for base in bases()[::MUTATED]:
        for mutator in MUTATORS:
            for mutant in mutator(base, chooser):
                verdict = validate(mutant.text, base.bundle, rules)
                counted[mutator.__name__] += 1
                if verdict.failure_reason is None:
                    accepted.append(mutant)
                elif verdict.failure_reason not in mutant.codes:
                    misnamed.append((verdict.failure_reason, mutant))
    assert len(accepted) == 0, accepted[:5]
    assert len(misnamed) == 0, misnamed[:5]
    assert sum(counted.values()) >= 10_000, counted
    assert min(counted[mutator.__name__] for mutator in MUTATORS) >= 200, counted
