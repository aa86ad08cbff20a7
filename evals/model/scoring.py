"""Judgements on a released answer that share no code with the product's rules: is it right, does it say anything.

An answer is right by the measure of SQuAD: after normalization, it contains an accepted answer, or its token F1 with
one is at least a half. Loops, echoes and fillers are found by simple counts of words.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

MIN_F1: Final = 0.5
LOOP_WORDS: Final = 4
"""A loop is a run of this many words that occurs three times, or a sentence that occurs twice."""
ECHO_WORDS: Final = 5
"""An echo is a run of this many words of the instructions."""
SAME_AS_QUESTION: Final = 0.9
PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
LINK_TARGET: Final = re.compile(r"(?<=\])\([^()\s]*\)")
"""Where a link of Markdown leads to: its words are not said."""
MARK: Final = re.compile(r"\[C\d+\]")
SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
FILLER: Final = re.compile(
    r"\b(?:as an ai|i'?m sorry|i (?:do not|don't|cannot|can't) (?:know|answer)|sure,? here|here is the answer|"
    r"the answer (?:to (?:this|the) question )?(?:is|can be found) in\b|"
    r"(?:evidence|passage|text|context|document) (?:does not|doesn't) (?:contain|say|mention|provide|specify)|"
    r"not (?:mentioned|specified|provided|stated) in the (?:evidence|passage|text|context)|"
    r"(?:this|the) (?:question|evidence) (?:is|asks|states) (?:about|for|that the question))",
    re.IGNORECASE,
)
YES_NO: Final = re.compile(
    r"^\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|may|will|would|should)\b", re.IGNORECASE
)
EMPTY_WORDS: Final = frozenset(
    "of in on at to for by from with and or but as is are was were be been being do does did has have had it its this "
    "that these those there which who whom whose what when where why how will would can could may might also "
    "answer question evidence source citation text passage following provided based according".split()
)


def normalize(text: str) -> list[str]:
    """Return the words of a text as SQuAD's measure compares them: lower case, no punctuation, no articles."""
    return ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split()


def token_f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall of an answer's words; 0 if none is common."""
    said, wanted = normalize(answer), normalize(gold)
    common = sum((Counter(said) & Counter(wanted)).values())
    return 2 * common / (len(said) + len(wanted)) if common else 0.0


def is_right(answer: str, gold: Iterable[str]) -> bool:
    """Whether an answer contains one of the accepted answers, or has enough words in common with it."""
    plain = LINK_TARGET.sub("", MARK.sub(" ", answer))
    said = normalize(plain)
    return any(_contains(said, normalize(each)) or token_f1(plain, each) >= MIN_F1 for each in gold)


def find_emptiness(answer: str, question: str, instructions: str, evidence: Sequence[str]) -> str:
    """Return why an answer says nothing: `loop`, `echo` or `filler`; empty if it says something.

    Args:
        answer: The released answer, with its citations.
        question: The question.
        instructions: The template of the prompt.
        evidence: The texts that the answer cites. What they repeat themselves is no loop.
    """
    plain = MARK.sub(" ", answer).strip()
    words = normalize(plain)
    sources = [normalize(text) for text in evidence]
    if _has_loop(plain, words, sources):
        return "loop"
    if _has_echo(words, normalize(question), normalize(instructions), sources):
        return "echo"
    new = set(words) - set(normalize(question)) - EMPTY_WORDS
    return "filler" if FILLER.search(plain) or not (new or YES_NO.match(question)) else ""


def _has_loop(plain: str, words: Sequence[str], sources: Iterable[Sequence[str]]) -> bool:
    sentences = Counter(" ".join(normalize(each)) for each in SENTENCE_END.split(plain))
    if any(count > 1 and len(sentence.split()) > 2 for sentence, count in sentences.items()):
        return True
    allowed = Counter[tuple[str, ...]]()
    for source in sources:
        allowed |= Counter(_runs(source, LOOP_WORDS))
    return any(count >= 3 and count > allowed[run] for run, count in Counter(_runs(words, LOOP_WORDS)).items())


def _has_echo(
    words: Sequence[str], question: Sequence[str], instructions: Sequence[str], sources: Iterable[Sequence[str]]
) -> bool:
    if SequenceMatcher(None, words, question, autojunk=False).ratio() >= SAME_AS_QUESTION:
        return True
    own = set(_runs(instructions, ECHO_WORDS)) - {run for source in sources for run in _runs(source, ECHO_WORDS)}
    return any(run in own for run in _runs(words, ECHO_WORDS))


def _runs(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + size]) for start in range(len(words) - size + 1)]


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return bool(wanted) and tuple(wanted) in _runs(words, len(wanted))
