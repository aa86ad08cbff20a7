"""`safe_normalize`: text enters a prompt without hidden characters and without the power to forge structure.

Words are not rewritten. Invisible characters are removed, white space is normalised, and a line that reads as a section
header of the prompt or as an evidence header gets a leading backslash (R2-S2, R3-4). Version 2 also breaks chat-control
tokens, and keeps the indentation of lines, which is part of the meaning of code.

It also prepares untrusted text for a screen: a document or a question must not control the terminal or the page.
"""

import re
import unicodedata
from typing import Any, Final, Literal, NamedTuple, get_args

from sourcebound.contracts.text.control_tokens import break_control_tokens

PLANES: Final = range(0, 0x110000, 0x10000)
UNSHOWABLE: Final = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff"
    "\ufdd0-\ufdef\U000e0000-\U000e007f"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in PLANES)
    + "]"
)
"""Control characters, direction marks, tags, and code points without a character. Joiners and variation selectors stay,
because Persian and emoji need them."""
REPLACEMENT: Final = "\ufffd"


def visible(text: str) -> str:
    """Replace every character that cannot be displayed with a mark. Line breaks stay."""
    return UNSHOWABLE.sub(REPLACEMENT, OTHER_LINE_BREAK.sub("\n", text))


def one_line(text: str) -> str:
    """Replace characters that cannot be displayed, and join the lines."""
    return " ".join(visible(text).split())


SECTION_TITLES: Final = (
    "SYSTEM INSTRUCTION",
    "SAFETY AND GROUNDING RULES",
    "EVIDENCE",
    "USER QUESTION",
    "OUTPUT REQUIREMENTS",
)
"""The prompt's five sections in their order (R3-1)."""

HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
    "\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f]"
)
"""Unicode's default-ignorable characters (zero-width, bidirectional, tags, variation selectors), annotation marks, lone
surrogates, and control characters other than white space."""

OTHER_LINE_BREAK: Final = re.compile("\r\n|[\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]")
BLANK_LINES: Final = re.compile(r"\n{3,}")
BLANK: Final = re.compile(r" ?[^\S\n ][^\S\n]*| {2,}[^\S\n]*")
"""White space within a line, other than a single space."""
INDENTED: Final = re.compile(r"^(?:\t|[^\S\n]{2})", re.MULTILINE)
EVIDENCE_HEADER: Final = re.compile(r"[^\w\[]*\[?\W*[cсϲ]\W*\d+\W*\||[^\w\[]*\[\W*[cсϲ]\W*\d+\b", re.IGNORECASE)
EVIDENCE_FIELD: Final = re.compile(r"\b(?:chunk|knowledge)[\W_]?id\W*=", re.IGNORECASE)
LATIN: Final = str.maketrans(
    "АВСЕНІЈКМОРЅТУХԌԚԜавсеһіјкморѕтухԍԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹαβεικνορτυχϲᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıɡɑ",
    "abcehijkmopstyxgqwabcehijkmopstyxgqwabezhikmnoptyxcabeiknoptuxcabcdefghijklmnoprstuvwyziga",
)
"""Letters of other scripts, and small capitals, that look like Latin ones."""
MARKUP: Final = re.compile(r"</?[A-Za-z]\w*[^<>]*>|\[\d+(?:;\d+)*m")
"""An element's tag, or the rest of a terminal colour whose escape character was removed."""
NAMED_SECTION: Final = re.compile(
    r"={2,}\W*(?:" + "|".join(title.replace(" ", r"\W*") for title in SECTION_TITLES) + r")\W*={2,}", re.IGNORECASE
)
HEADER_MARK: Final = re.compile(r"[\\\[\]|]")
NOT_A_LETTER: Final = re.compile(r"[\W\d_]+")
TITLE_LETTERS: Final = frozenset(NOT_A_LETTER.sub("", title).casefold() for title in SECTION_TITLES)
TITLE_LENGTHS: Final = frozenset(map(len, TITLE_LETTERS))
TITLE_BYTES: Final = tuple(letters.encode() for letters in TITLE_LETTERS)
FORGING_MARKS: Final = "<[|="
"""Characters of markup and headers. A line without any of them can only be a title."""
NOT_ASCII_LETTERS: Final = bytes(set(range(256)) - set(b"abcdefghijklmnopqrstuvwxyz"))
PLAIN: Final = bytes([*b"\n", *range(0x20, 0x7F)])
"""Visible ASCII characters and single blanks."""

UNSTORABLE: Final = re.compile("[\u0000\ud800-\udfff]")
"""NUL, which PostgreSQL cannot store, and lone surrogates, which UTF-8 cannot encode."""


SanitizationMode = Literal["safe_normalize_v1", "safe_normalize_v2"]
"""The versions of the rule. A policy names the version that applies."""
MODES: Final[tuple[SanitizationMode, ...]] = get_args(SanitizationMode)
SECOND_MODE: Final = "safe_normalize_v2"
LEAST_INDENTATION: Final = 2
LARGEST_INDENTATION: Final = 40
TAB_WIDTH: Final = 4


class Sanitized(NamedTuple):
    """Sanitized text, the number of its escaped lines and of its broken control tokens."""

    text: str
    escaped_lines: int
    control_tokens: int = 0


def sanitize(text: str, mode: SanitizationMode = "safe_normalize_v1") -> Sanitized:
    """Apply `safe_normalize`.

    Args:
        text: Evidence or a question as received.
        mode: The version of the rule.

    Returns:
        The normalised text, empty if nothing visible remains, and the number of escaped lines and of control tokens.
    """
    unbroken = _without_hidden(text)
    visible = BLANK.sub(" ", unbroken)
    lines = [line.strip() for line in visible.split("\n")]
    forging_lines = (
        [number for number, line in enumerate(lines) if forges_structure(line)] if _may_forge(visible) else []
    )
    for number in forging_lines:
        lines[number] = "\\" + lines[number]
    if mode == SECOND_MODE and INDENTED.search(unbroken):
        lines = [
            _indentation(line) + shown if shown else "" for line, shown in zip(unbroken.split("\n"), lines, strict=True)
        ]
    joined = "\n".join(lines).strip("\n")
    shown, tokens = without_control_tokens(BLANK_LINES.sub("\n\n", joined) if "\n\n\n" in joined else joined, mode)
    return Sanitized(shown, len(forging_lines), tokens)


def without_control_tokens(text: str, mode: SanitizationMode) -> tuple[str, int]:
    """Break the chat-control tokens of a text if the mode asks for it; return the text and their number."""
    return break_control_tokens(text) if mode == SECOND_MODE else (text, 0)


def _without_hidden(text: str) -> str:
    """Return the text in NFC without hidden characters, with newlines; the same object if it is plain."""
    if text.isascii() and not text.encode().translate(None, PLAIN) and "  " not in text:
        return text  # true for nearly every text
    return unicodedata.normalize("NFC", HIDDEN.sub("", OTHER_LINE_BREAK.sub("\n", text)))


def _indentation(line: str) -> str:
    """Return the blanks before the text of a line; none for a single one, which is no indentation."""
    width = len(line[: len(line) - len(line.lstrip())].expandtabs(TAB_WIDTH))
    return " " * min(width, LARGEST_INDENTATION) if width >= LEAST_INDENTATION else ""


def to_storable(value: Any) -> Any:
    """Remove the characters that can be neither stored nor sent from a JSON value, and change nothing else.

    Args:
        value: A text, number, boolean, None, or lists and dicts of them.

    Returns:
        The same shape.
    """
    if isinstance(value, str):
        return UNSTORABLE.sub("", value)
    if isinstance(value, dict):
        return {to_storable(name): to_storable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [to_storable(item) for item in value]
    return value


def forges_structure(line: str) -> bool:
    """Whether a reader could take `line` for a section header or an evidence header of the prompt.

    Look-alikes count too: other case, accents, letters of other scripts, other decoration around the words.
    """
    if not _may_forge(line):
        return False
    plain = line if line.isascii() else fold_to_latin(line)
    if "==" in plain and NAMED_SECTION.search(plain):
        return True
    if EVIDENCE_HEADER.match(plain) or EVIDENCE_FIELD.search(plain):
        return True
    plain = MARKUP.sub("", plain)
    if sum(map(str.isalpha, plain)) not in TITLE_LENGTHS:
        return False
    return NOT_A_LETTER.sub("", plain).casefold() in TITLE_LETTERS


def _may_forge(text: str) -> bool:
    """Whether any line may forge structure: a pre-check that saves nearly every text the check line by line."""
    if not text.isascii() or any(mark in text for mark in FORGING_MARKS):
        return True
    letters = text.encode().lower().translate(None, NOT_ASCII_LETTERS)
    return any(title in letters for title in TITLE_BYTES)


def fold_to_latin(line: str) -> str:
    """Fold a line to what a reader sees: compatibility forms folded, accents removed, look-alikes in Latin."""
    folded = unicodedata.normalize("NFKD", line).translate(LATIN)
    return "".join(character for character in folded if not unicodedata.combining(character))


def header_value(value: str) -> str:
    r"""Make a value safe for an evidence header: one line, with `\`, `[`, `]` and `|` escaped (R2-A2)."""
    return HEADER_MARK.sub(r"\\\g<0>", BLANK.sub(" ", _without_hidden(value).replace("\n", " ")).strip())
