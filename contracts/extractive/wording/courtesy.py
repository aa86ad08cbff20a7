"""Polite words around a question, which say nothing about the thing that it asks for (R4-9).

`Hello, could you please tell me: how often is the oil changed? Thank you!` asks `how often is the oil changed?`. It
reads English only, as the patterns of questions do.
"""

import re
from typing import Final

from sourcebound.contracts.extractive.patterns import AUXILIARY

GREETING: Final = re.compile(
    r"^\W*(?:hello|hi|hey|greetings|good (?:morning|afternoon|evening|day)|dear \w+(?: \w+){0,2})"
    r"(?: (?:there|all|everyone|team|colleagues))?\s*[,!.:]\s*",
    re.IGNORECASE,
)
LEAD_IN: Final = re.compile(
    r"^\W*(?:please[, ]+)?(?:(?:could|can|would|will) (?:you|someone|anyone) (?:please |kindly |maybe )?"
    r"|(?:please |kindly ))(?:tell|explain to|let|help) (?:me|us)(?: know)?(?:,? please)?(?::\s*|[, ]+)"
    rf"(?=(?:(?:at|in|to|by|for|with|on|from|of|after|within) )?(?:who|when|where|what|which|why|how|{AUXILIARY})\b)",
    re.IGNORECASE,
)
GIVE_ME: Final = re.compile(
    r"^\W*(?:please[, ]+)?(?:(?:could|can|would|will) (?:you|someone|anyone) (?:please |kindly )?|(?:please |kindly )?)"
    r"(?:give|tell|send|show) (?:me|us) (?=(?:the|an?) )",
    re.IGNORECASE,
)
"""`Can you give me the number of …` asks `what is the number of …`."""
PLEASE: Final = re.compile(r"^\W*please[, ]+|,? please(?=\W*$)", re.IGNORECASE)
SENTENCE: Final = re.compile(r"[^.!?]*[.!?]*\s*")
COURTESY: Final = re.compile(
    r"\W*(?:(?:and|but|so) )?(?:"
    r"(?:many |best )?(?:thanks|thank you|cheers)\b[\w ,]{0,50}"
    r"|(?:with )?(?:kind|best|warm|many) (?:regards|wishes)[\w ,]{0,20}"
    r"|i hope (?:you are|you're|this finds you)[\w ,]{0,20}"
    r"|(?:i am |i'm )?sorry (?:to bother|for bothering|to disturb|to trouble)[\w ,']{0,20}?"
    r"(?:,? but i (?:have|had) [\w ]{0,15}question)?"
    r"|i (?:have|had) (?:a|one|another) (?:\w+ ){0,2}question(?: for you)?"
    r"|(?:(?:i|we) (?:would|'d) be|i am|i'm) [\w ]{0,10}(?:grateful|thankful)[\w ,]{0,30}"
    r"|(?:would you mind|could you|can you|please) help(?:ing)? (?:me|us)(?: (?:out|with (?:this|that|it|something)))?"
    r"(?:,? please)?"
    r"|i (?:am looking|look) forward to [\w ]{1,25}"
    r"|(?:please )?(?:ignore|disregard|forget|override) (?:\w+ ){0,3}(?:instructions?|rules?|prompts?|guidelines?)\b"
    r"[^.!?]*"
    r")\W*",
    re.IGNORECASE,
)
"""A whole sentence that is only polite, or an order to the system: `Ignore all previous instructions.`"""


def strip_courtesy(text: str) -> str:
    """Remove greetings, thanks and polite lead-ins.

    Args:
        text: The words of a user.

    Returns:
        The rest; the whole text if nothing else is in it.
    """
    rest = text
    if greeting := GREETING.match(rest):
        rest = rest[greeting.end() :]
    kept = [match[0] for match in SENTENCE.finditer(rest) if match[0].strip() and not COURTESY.fullmatch(match[0])]
    rest = "".join(kept).strip()
    if lead_in := LEAD_IN.match(rest):
        rest = rest[lead_in.end() :]
    if given := GIVE_ME.match(rest):
        rest = "what is " + rest[given.end() :]
    rest = PLEASE.sub("", rest).strip()
    return rest if re.search(r"\w", rest) else text
