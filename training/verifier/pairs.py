"""Writes what the cross-encoder that was tried learns from: `python training/verifier/pairs.py DATA OUT`.

`OUT` gets `train.jsonl`, pairs of two texts with a label. Only training documents that may be in shipped weights are
learnt from.

A changed statement is known by its words alone, if only statements are changed. So the evidence is changed too: the
changed statement is supported by the changed evidence, and the statement as it was is not.
"""

import json
import random
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

from changes import AUXILIARY, NAME, NEGATION, NUMBER, OPPOSITES, WORD, declare, reword
from data import SHIPPABLE, TRAIN, Example, read_examples
from premise import read_answer, read_premise
from questions import Asked, closest, read_questions

from sourcebound.contracts.text.sentences import split_sentences
from sourcebound.contracts.validation.support.claims import read_claim

LEFT_OUT: Final = frozenset(
    f"synthetic/{kind}" for kind in "loop prompt_echo question_echo filler truncated invented".split()
)
"""Kinds that other checks find."""
RARE: Final = ("number", "numbers", "name", "names")
"""Changes that have a place in fewer sentences, and that are preferred there."""
SENTENCES: Final = 4200
"""The sentences of training texts that are reworded and changed."""
SYNONYMS: Final = """
utilized used;utilize use;purchase buy;purchased bought;commence start;commenced started;terminated ended;assist help;
assisted helped;attempt try;attempted tried;demonstrate show;demonstrated showed;demonstrates shows;obtained got;
residing living;resides lives;constructed built;construct build;established founded;created made;located situated;
approximately roughly;about roughly;around about;nearly almost;primarily mainly;mainly mostly;typically usually;
frequently often;rapidly quickly;quickly fast;large big;huge enormous;small little;several various;numerous many;
entire whole;main chief;significant important;important key;difficult hard;famous well-known;known called;named called;
died passed away;received was given;won earned;led headed;leads heads;
released issued;published issued;moved relocated;joined became a member of;remained stayed;
reported said;stated said;claimed said;suggests indicates;suggest indicate;found discovered;observed seen;
investigated studied;examined studied;evaluated assessed;compared contrasted;caused led to;causes leads to;
results outcomes;effect impact;effects impacts;role part;method approach;study research;studies investigations;
patients people;children kids;individuals people;participants subjects;persons people;men males;women females;
disease illness;illness sickness;physician doctor;film movie;movie film;city town;country nation;nation country;
company firm;firm company;region area;area region;war conflict;king monarch;author writer;writer author;
actor performer;singer vocalist;song track;album record;game match;match game;weeks wks;
percent %;because since;although though;however yet;but yet;while whereas;whereas while;therefore thus;also too;
including such as;
can is able to;must has to;requires needs;require need;allows lets;allow let;
prevents stops;prevent stop;provides gives;provide give;provided gave;contains holds;contained held;includes has;
included had;originally at first;initially at first;finally in the end;currently now;
today nowadays;first initial;second 2nd;third 3rd;two 2;three 3;four 4;five 5;six 6;seven 7;eight 8;nine 9;ten 10;
became turned into;grew increased;decline decrease;rise increase;increased rose;decreased fell;higher greater;
lower smaller;majority most part;begin start;began started;ended finished;occurs happens;occurred happened;
appears seems;appeared seemed;described characterized;considered regarded;regarded considered;chosen selected;
selected chosen;held kept;opened was opened;involved engaged;associated linked;related connected;common widespread
""".replace("\n", "")
SWAPS: Final = [tuple(pair.split(" ", 1)) for pair in SYNONYMS.split(";")]
PERSON: Final = r"[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){0,3}"
PASSIVE: Final = re.compile(rf"^(The [\w ]{{3,40}}?|{PERSON}) was (\w+ed) by ((?:the )?{PERSON})(?=[ ,.])")
CLAUSE_START: Final = re.compile(
    r"^((?:In|On|At|During|After|Before|By|For|From|Since|Despite|With) [^,]{3,60}), (.+?)([.!]?)$"
)


def main(folder: Path, out: Path) -> None:
    """Make the pairs and write them."""
    out.mkdir(parents=True, exist_ok=True)
    examples = read_examples(folder)
    unlearnt = {example.group for example in examples if example.part != TRAIN}
    asked = [a for a in read_questions(folder) if a.part == TRAIN and a.group not in unlearnt]
    with ProcessPoolExecutor(2) as pool:
        rows = [row for part in pool.map(_learn, _sources(examples, asked), chunksize=100) for row in part]
        rows += [row for part in pool.map(_ask, asked, chunksize=20) for row in part]
        random.Random(0).shuffle(rows)
    _write(out / "train.jsonl", rows)
    counts: dict[str, int] = {}
    for row in rows:
        counts[f"{row['kind']} {row['label']}"] = counts.get(f"{row['kind']} {row['label']}", 0) + 1
    print(len(rows), "pairs", dict(sorted(counts.items())))


def premise(statement: str, texts: tuple[str, ...]) -> str:
    """Return the evidence that is read with a statement."""
    return read_premise(read_claim(statement), texts)[0]


def _write(path: Path, rows: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _sources(examples: list[Example], asked: list[Asked]) -> Iterator[tuple[str, Example]]:
    """Yield statements to learn from, with what is to be made of each."""
    learnt = [e for e in examples if e.ships and e.part == TRAIN and not e.is_talk]
    for example in learnt:
        if example.source not in LEFT_OUT:
            yield "row", example
        if example.supported and example.source in SHIPPABLE:
            yield "natural", example
    used = [a for a in asked if a.answers and a.short]
    for one in used:
        yield "natural", declare(one)
    others = {text for e in examples if not (e.ships and e.part == TRAIN) for text in e.texts}
    texts = {text: example for example in learnt if example.source in SHIPPABLE for text in example.texts}
    texts |= {one.text: declare(one) for one in used}
    sentences = [
        example._replace(id=f"text:{number}:{start}", statement=text[start:end].strip(), texts=(text,))
        for number, (text, example) in enumerate(texts.items())
        if text not in others
        for line_start, line in _lines(text)
        for first, last in split_sentences(line)
        for start, end in [(line_start + first, line_start + last)]
        if 7 <= len(text[start:end].split()) <= 36 and text[start:end].rstrip().endswith(".")
    ]
    draw = random.Random(0)
    for example in draw.sample(sentences, min(SENTENCES, len(sentences))):
        yield "copy", example


def _lines(text: str) -> Iterator[tuple[int, str]]:
    offset = 0
    for line in text.split("\n"):
        if line.strip():
            yield offset, line
        offset += len(line) + 1


def _row(kind: str, statement: str, evidence: str, label: bool, before: str = "") -> dict[str, Any]:
    """Return a pair; `before` is the statement before a change, whose place is learnt too."""
    return {"task": 0, "kind": kind, "a": read_claim(statement).text, "b": evidence, "label": int(label), "was": before}


def _learn(item: tuple[str, Example]) -> list[dict[str, Any]]:
    made, example = item
    draw = random.Random(example.id)
    statement, evidence = example.statement, premise(example.statement, example.texts)
    if made == "row":
        return [_row(example.source, statement, evidence, example.supported)]
    rows = []
    if made == "copy":
        statement = rephrase(example, draw)
        evidence = premise(statement, example.texts)
        rows.append(_row("text/copy", statement, evidence, True))
    changes = list(alter(statement, evidence, " ".join(example.texts), draw))
    changes.sort(key=lambda change: draw.random() * (0.5 if change[0] in RARE else 1))
    wanted = 6 if made == "natural" else 2
    for kind, changed, twin in changes[:wanted]:
        name = f"{made}/{kind}"
        rows.append(_row(name, changed, evidence, False, statement))
        if twin:
            rows.append(_row(f"{name}/twin", changed, twin, True))
            if draw.random() < 0.7:
                rows.append(_row(f"{name}/old", statement, twin, False, changed))
    if made == "copy" and draw.random() < 0.7:
        rows.extend(_blank(statement, example, draw))
    if made == "copy" and draw.random() < 0.15:
        rest = example.texts[0].replace(example.statement, " ")
        rows.append(_row("text/gone", statement, premise(statement, (rest,)), False))
    return rows


def _blank(statement: str, example: Example, draw: random.Random) -> Iterator[dict[str, Any]]:
    """Yield questions that a sentence answers, or not, made by asking for one of its names or numbers."""
    places = [*NAME.finditer(statement), *NUMBER.finditer(statement)]
    if not places:
        return
    match = draw.choice(places)
    asks = ("how many", "what number", "when") if match[0][0].isdigit() else ("who", "what", "which one", "where")
    if re.fullmatch(r"1[5-9]\d\d|20\d\d", match[0]):
        asks = ("what year", "when", "which year")
    asked = draw.choice(asks)
    rest = (statement[: match.start()] + asked + statement[match.end() :]).rstrip(". ")
    if draw.random() < 0.5:
        head, tail = statement[: match.start()].strip(" ,"), statement[match.end() :].strip(" ,.")
        rest = f"{asked} {tail} {head[:1].lower() + head[1:]}" if tail else f"{asked} {head}"
    question = rest[0].upper() + rest[1:] + "?"
    text = read_answer(example.statement, question, [example.texts[0]])
    yield _question("made", question, text, True)
    changes = list(alter(question, text, example.texts[0], draw))
    draw.shuffle(changes)
    for kind, changed, twin in changes[:2]:
        yield _question(f"made/{kind}", changed, text, False)
        if twin:
            yield _question(f"made/{kind}/twin", changed, twin, True)
    if draw.random() < 0.5:
        gone = example.texts[0].replace(example.statement, " ")
        other = closest(question, gone) if gone.strip() else ""
        if other and match[0] not in other:
            yield _question("made/other", question, read_answer(other, question, [gone]), False)


def rephrase(example: Example, draw: random.Random) -> str:
    """Return a sentence in other words, without a part, or in another order."""
    text = example.statement
    if draw.random() < 0.6:
        text = next((made.statement for made in reword(example)), text)
    for old, new in draw.sample(SWAPS, len(SWAPS) * 2 // 3):
        if draw.random() < 0.8:
            text = re.sub(rf"\b{re.escape(old)}\b", new, text, count=1)
    text = PASSIVE.sub(lambda match: f"{match[3]} {match[2]} {match[1]}", text) if draw.random() < 0.7 else text
    moved = CLAUSE_START.match(text)
    if moved and draw.random() < 0.6:
        head = moved[1][0].lower() + moved[1][1:]
        text = f"{moved[2]} {head}{moved[3]}"
    words = text.split(" ")
    if draw.random() < 0.4:
        words = [word for word in words if not (word.endswith("ly") and word.islower() and draw.random() < 0.5)]
        words = [word for word in words if not (word in ("the", "a", "an") and draw.random() < 0.15)]
    text = " ".join(words)
    return (text[0].upper() + text[1:]) if text else example.statement


def alter(statement: str, evidence: str, text: str, draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of a change, the changed statement, and the evidence with the same change if that is possible."""
    negated = _negate(statement, draw)
    if negated:
        yield "negation", negated[0], _negate_twin(negated[1], negated[2], evidence)
    places = [match for match in WORD.finditer(statement) if match[0] in OPPOSITES and len(match[0]) > 3]
    if places:
        match = draw.choice(places)
        other = OPPOSITES[match[0]]
        twin = re.sub(rf"\b{match[0]}\b", other, evidence)
        usable = twin != evidence and not re.search(rf"\b{other}\b", evidence)
        yield "opposite", statement[: match.start()] + other + statement[match.end() :], twin if usable else ""
    for kind, pattern, others in (
        ("number", NUMBER, [*NUMBER.findall(evidence), *NUMBER.findall(text), *_near(statement, draw)]),
        ("name", NAME, [*NAME.findall(evidence), *NAME.findall(text)]),
    ):
        yield from _replace(kind, pattern, others, statement, evidence, draw)
        yield from _exchange(kind, pattern, statement, evidence, draw)
    words = [m for m in WORD.finditer(statement) if len(m[0]) > 4 and m[0].islower() and m[0] not in OPPOSITES]
    others = [w for w in WORD.findall(text) if len(w) > 4 and w.islower() and w not in statement]
    if words and others and draw.random() < 0.4:
        match, other = draw.choice(words), draw.choice(others)
        if match[0][-2:] == other[-2:]:
            yield "word", statement[: match.start()] + other + statement[match.end() :], ""


def _negate(text: str, draw: random.Random) -> tuple[str, str, str] | None:
    """Return a negated statement, and the words around the change before and after it."""
    match = NEGATION.search(text)
    if match:
        new = re.sub("  +", " ", text[: match.start()] + " " + text[match.end() :])
        return new, text[max(0, match.start() - 12) : match.end() + 6], ""
    places = list(AUXILIARY.finditer(text))
    if not places:
        return None
    match = places[0] if draw.random() < 0.7 else draw.choice(places)
    word = draw.choice((" not", " not", " never")) if match[0] not in ("does", "did", "do") else " not"
    after = re.match(r"\s+(\w+)", text[match.end() :])
    return text[: match.end()] + word + text[match.end() :], f"{match[0]} {after[1] if after else ''}", word


def _negate_twin(before: str, word: str, evidence: str) -> str:
    """Return the evidence with the same negation, where it has the same words around."""
    if not word:
        return ""
    head, _, tail = before.partition(" ")
    found = re.search(rf"\b{re.escape(head)}(?=\s+{re.escape(tail)}\b)", evidence) if tail else None
    return evidence[: found.end()] + word + evidence[found.end() :] if found else ""


def _near(text: str, draw: random.Random) -> list[str]:
    """Return numbers close to those of a text."""
    made = [str(draw.randint(2, 99))]
    for number in NUMBER.findall(text):
        if number.isdigit() and len(number) < 10:
            made.append(str(max(1, int(number) + draw.choice((-10, -2, -1, 1, 2, 3, 10)))))
    return made


def _replace(
    kind: str, pattern: re.Pattern[str], others: list[str], statement: str, evidence: str, draw: random.Random
) -> Iterator[tuple[str, str, str]]:
    places = list(pattern.finditer(statement))
    usable = sorted({other for other in others if other not in statement})
    if places and usable:
        match, other = draw.choice(places), draw.choice(usable)
        changed = statement[: match.start()] + other + statement[match.end() :]
        is_twin = match[0] in evidence and other not in evidence
        yield kind, changed, re.sub(rf"\b{re.escape(match[0])}\b", lambda _: other, evidence) if is_twin else ""


def _exchange(
    kind: str, pattern: re.Pattern[str], statement: str, evidence: str, draw: random.Random
) -> Iterator[tuple[str, str, str]]:
    places = list(pattern.finditer(statement))
    if len({match[0] for match in places}) < 2:
        return
    one, two = sorted(draw.sample(places, 2), key=lambda match: match.start())
    if one[0] == two[0] or one[0] in two[0] or two[0] in one[0]:
        return
    changed = statement[: one.start()] + two[0] + statement[one.end() : two.start()] + one[0] + statement[two.end() :]
    both = {one[0]: two[0], two[0]: one[0]}
    is_twin = all(name in evidence for name in both)
    pattern = re.compile("|".join(map(re.escape, sorted(both, key=len, reverse=True))))
    yield f"{kind}s", changed, pattern.sub(lambda match: both[match[0]], evidence) if is_twin else ""


def _ask(asked: Asked) -> list[dict[str, Any]]:
    """Return pairs of a question and an answer: as they are, with a changed question, and with another sentence."""
    draw = random.Random(asked.question)
    text = read_answer(asked.answer, asked.question, [asked.text])
    rows = [_question(asked.source, asked.question, text, asked.answers)]
    if not asked.answers:
        return rows
    passages = asked.text
    for kind, changed, _ in alter(asked.question, text, passages, draw):
        rows.append(_question(f"{asked.source}/{kind}", changed, text, False))
    if asked.short:
        gone = " ".join(
            asked.text[first:last]
            for first, last in split_sentences(asked.text)
            if asked.short not in asked.text[first:last] and asked.text[first:last].strip() != asked.answer
        )
        other = closest(asked.question, gone) if gone.strip() else ""
        if other:
            rows.append(
                _question(f"{asked.source}/other", asked.question, read_answer(other, asked.question, [gone]), False)
            )
    rows.append(_question(asked.source, asked.question, asked.answer + " |", True))
    return rows


def _question(kind: str, question: str, text: str, label: bool) -> dict[str, Any]:
    return {"task": 1, "kind": f"question/{kind}", "a": question, "b": text, "label": int(label), "was": ""}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
