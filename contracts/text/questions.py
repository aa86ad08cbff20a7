"""Questions that are answered by yes or no, in five languages."""

import re
from typing import Final

INTERROGATIVES: Final = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how"
    r"|was für|welche[mnrs]?|wer|wen|wem|wessen|wann|wo|wohin|woher|warum|weshalb|wie|wieso|wieviele?"
    r"|w(?:o|or)(?:an|auf|bei|durch|für|in|mit|nach|von|vor|zu)"
    r"|quel(?:le)?s?|qui|quoi|quand|où|pourquoi|comment|combien"
    r"|qué|cuál(?:es)?|quién(?:es)?|cuándo|dónde|adónde|cómo|cuánt[oa]s?"
    r"|che|cosa|cos'|quale|quali|quando|dove|perché|quant[oiae]|chi)\b",
    re.IGNORECASE,
)
"""Words that ask for more than yes or no. `was` is left out, because in English it asks for just that."""
GERMAN_WAS: Final = re.compile(
    r"^\W*Was\s+(?:ist|sind|war|waren|wird|werden|hat|haben|muss|müssen|darf|kann|soll|passiert|gilt)\b"
)


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question can be answered by yes or no: it ends with a question mark and has no interrogative."""
    return (
        question.rstrip().endswith("?")
        and INTERROGATIVES.search(question) is None
        and GERMAN_WAS.match(question) is None
    )
