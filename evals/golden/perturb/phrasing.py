"""The same question in other words: paraphrase rules, another word order, polite words around it.

Each rule is a form of question and another form of the same one. A question that no rule fits is not perturbed.
"""

import re
from typing import Final

from sourcebound.evals.golden.perturb.draws import Draws

DONE: Final = (
    "changed|replaced|calibrated|sampled|turned by hand|run|sanitised|kept|tightened|used|checked|measured|"
    "sterilised|trended|reviewed"
)
PARAPHRASES: Final = (
    (r"How often (is|are) (.+) ((?:" + DONE + r").*)\?", r"At what interval \1 \2 \3?"),
    (r"How often (does|do|must|should) (.+)\?", r"At what intervals \1 \2?"),
    (r"To what torque (?:is|are) (.+) tightened(.*)\?", r"What is the tightening torque of \1\2?"),
    (r"What is the tightening torque of (.+)\?", r"How tight does one make \1?"),
    (r"How long (may|can|must|does|do|did|is|are) (.+)\?", r"For how much time \1 \2?"),
    (r"For how long (is|are) (.+) kept\?", r"How long must one keep \2?"),
    (r"How long (is|are) (.+) kept(.*)\?", r"For what period \1 \2 retained\3?"),
    (r"Within how many (.+)\?", r"In how many \1 at the latest?"),
    (r"How heavy is (.+)\?", r"What does \1 weigh?"),
    (r"How much does (.+) weigh\?", r"What is the weight of \1?"),
    (r"How loud is (.+)\?", r"How much noise does \1 make?"),
    (r"Who may (.+)\?", r"Which person is allowed to \1?"),
    (r"Why (must|can't|can|do|does|did|is|are) (.+)\?", r"For what reason \1 \2?"),
    (r"Where do I find (.+)\?", r"In what place is \1?"),
    (r"What does (.+) (?:contain|hold)\?", r"What are the contents of \1?"),
    (r"May (.+) be (.+)\?", r"Is it allowed that \1 be \2?"),
    (r"Can (.+) be (.+)\?", r"Is it possible for \1 to be \2?"),
    (r"What is (the (?:(?! used for| like).)+)\?", r"Can you give me \1?"),
    (r"What happens (when|to) (.+)\?", r"What takes place \1 \2?"),
    (r"Which (.+) (does|do|goes|is|are) (.+)\?", r"What \1 \2 \3?"),
)
"""The forms of questions, each with another form; the first that fits is used."""
SYNONYMS: Final = (
    ("permitted", "allowed"),
    ("acceptable", "tolerable"),
    ("largest", "biggest"),
    ("lowest", "smallest"),
    ("replaced", "exchanged"),
)
TRAILING: Final = re.compile(
    r"(?P<rest>(?!What does)(?:(?! if )[^.?])+?),? "
    r"(?P<phrase>(?:in|under|according to|on|after|before|during|without|when|at) [^,.?]+)\?"
)
TOPIC: Final = re.compile(
    r"(?P<before>[^.?]+)(?<! and) (?:of|on|for) (?P<topic>(?:the )?[A-Z]{2,4}-\d+)"
    r"(?P<after>(?: (?:in|on|at|under|when|after|is|are|go|get|may|must|turn|be) (?:(?! and )[^.?])+)?)\?"
)
LONGEST_PHRASE: Final = 8
POLITE: Final = (
    "Hello, could you please tell me: {} Thank you very much!",
    "Good morning! Sorry to bother you again, but I have a quick question. {} Many thanks in advance.",
    "Hi, I hope you are well. {} I would be very grateful for your help.",
    "Dear colleagues, {} Kind regards",
    "Would you mind helping me with this, please? {}",
)


def paraphrase(question: str, draws: Draws) -> str | None:
    """Ask in another form of words.

    Args:
        question: The question.
        draws: Chooses whether a synonym is used as well.

    Returns:
        The paraphrase; None if no rule fits.
    """
    changed = next(
        (re.sub(form, other, question) for form, other in PARAPHRASES if re.fullmatch(form, question)), question
    )
    if changed == question or draws.number("synonym", 2):
        for word, synonym in SYNONYMS:
            changed = re.sub(rf"\b{word}\b", synonym, changed)
    return changed if changed != question else None


def reorder(question: str, draws: Draws) -> str | None:
    """Put the last phrase, or the equipment, at the beginning: `In revision C, to what torque …?`.

    Args:
        question: The question.
        draws: Chooses between the two.

    Returns:
        The question in another order; None if it has neither.
    """
    orders = [order for order in (_phrase_first(question), _topic_first(question)) if order]
    return draws.pick("order", orders) if orders else None


def _phrase_first(question: str) -> str | None:
    match = TRAILING.fullmatch(question)
    if not match or len(match["phrase"].split()) > LONGEST_PHRASE or len(match["rest"].split()) < 4:
        return None
    return f"{_capital(match['phrase'])}, {_small(match['rest'])}?"


def _topic_first(question: str) -> str | None:
    match = TOPIC.fullmatch(question)
    return f"{_capital(match['topic'])}: {_small(match['before'])}{match['after']}?" if match else None


def add_politeness(question: str, draws: Draws) -> str:
    """Put polite words around a question.

    Args:
        question: The question.
        draws: Chooses the words.
    """
    return draws.pick("frame", POLITE).format(question)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _small(text: str) -> str:
    return text if re.match(r"[A-Z]\w*[A-Z\d-]", text) else text[:1].lower() + text[1:]
