"""The title, revision and date of a document, read conservatively.

A wrong revision or date is worse than none, because searches filter by them. So a title must look like a title, and a
revision or a date must be on a labelled line of its own near the top. The creation date of a file is never used,
because it is not the date of the reported event.
"""

import re
from datetime import date
from pathlib import Path

from sourcebound.contracts.corpus.document import BlockKind, DocumentMetadata, Page
from sourcebound.ingest.chunking.page_text import clean_text, collapse

_MAX_TOP_LINES = 40
_MAX_TITLE_LENGTH = 200
_MAX_JOINED_TITLE_LENGTH = 120
_WORD = re.compile(r"[^\W\d_]{2,}")
_FILE_NAME = re.compile(r"\.(docx?|pdf|xlsx?|pptx?|html?|txt|rtf|indd|md|tmp|dvi|ps)$", re.IGNORECASE)
_DEFAULT_TITLE = re.compile(
    r"^(microsoft (word|powerpoint|excel)|untitled|(powerpoint )?presentation\s?\d*$|document\s?\d*$|title$|slide 1$)",
    re.IGNORECASE,
)

_SEPARATOR = re.compile(r"\s*[|;•·]\s*|\t+| {3,}")
_REVISION = re.compile(
    r"(?:document\s+)?(?:revision|rev\.?|issue)(?:\s+(?:no\.?|number|level))?\s*[:#]?\s*"
    r"(?P<revision>[A-Z]{1,2}|[A-Z]?\d{1,4}(?:\.\d+)*[A-Za-z]?)",
    re.IGNORECASE,
)
_DATE_LABEL = re.compile(
    r"(?:effective|issue|revision|release|publication|event|report)?\s*date(?:\s+(?:of issue|issued|effective))?"
    r"\s*:\s*(?P<date>.{6,30})|(?:effective|issued|published)(?:\s+on)?\s*:?\s+(?P<bare>.{8,30})",
    re.IGNORECASE,
)
_ISO_DATE = re.compile(r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?:[T ]\d{2}:\d{2}.*)?")
_DAY_FIRST_DATE = re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ .-]+(?P<name>[A-Za-z]{3,9})\.?,?[ -]+(?P<year>\d{4})")
_MONTH_FIRST_DATE = re.compile(r"(?P<name>[A-Za-z]{3,9})\.? +(?P<day>\d{1,2})(?:st|nd|rd|th)?,? +(?P<year>\d{4})")
_NUMERIC_DATE = re.compile(r"(?P<first>\d{1,2})[/.-](?P<second>\d{1,2})[/.-](?P<year>\d{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def build_metadata(
    path: Path,
    pages: tuple[Page, ...],
    title: str | None = None,
    revision: str | None = None,
    event_date: date | None = None,
) -> DocumentMetadata:
    """Build the metadata of a document from the values that its format declares, otherwise from its text.

    Args:
        path: The path of the file. Its stem is the fallback title.
        pages: The parsed pages.
        title: The title that the format declares. It is used only if it looks like a title.
        revision: The revision that the format declares.
        event_date: The date that the format declares.
    """
    declared_title = collapse(clean_text(title or ""))
    best_title = declared_title if looks_like_title(declared_title) else _find_top_heading(pages) or path.stem
    top = _read_top_lines(pages)
    return DocumentMetadata(
        title=clean_text(best_title)[:_MAX_TITLE_LENGTH],
        revision=revision or find_revision(top),
        event_date=event_date or find_date(top),
    )


def looks_like_title(text: str) -> bool:
    """Check that a text is a title, and not a file name, a number or the default title of a tool."""
    if not text or len(text) > _MAX_TITLE_LENGTH or _FILE_NAME.search(text) or _DEFAULT_TITLE.match(text):
        return False
    return _WORD.search(text) is not None and (" " in text or "_" not in text)


def find_revision(lines: list[str]) -> str | None:
    """Find the first part of a line that is only a labelled revision, such as `Rev. 3`."""
    for line in lines:
        for part in _SEPARATOR.split(line):
            match = _REVISION.fullmatch(part.strip().rstrip("."))
            if match:
                return match["revision"]
    return None


def find_date(lines: list[str]) -> date | None:
    """Find the first part of a line that is only a labelled date, such as `Effective date: 2024-03-01`."""
    for line in lines:
        for part in _SEPARATOR.split(line):
            match = _DATE_LABEL.fullmatch(part.strip().rstrip("."))
            found = parse_date(match["date"] or match["bare"]) if match else None
            if found:
                return found
    return None


def parse_date(text: str) -> date | None:
    """Parse a full calendar date; None if the text is not a date, or the order of day and month is ambiguous."""
    text = text.strip()
    for pattern in (_ISO_DATE, _DAY_FIRST_DATE, _MONTH_FIRST_DATE, _NUMERIC_DATE):
        match = pattern.fullmatch(text)
        if match:
            return _build_date(match.groupdict())
    return None


def _build_date(parts: dict[str, str]) -> date | None:
    if "name" in parts:
        month = _find_month(parts["name"])
        day = int(parts["day"])
    elif "month" in parts:
        month, day = int(parts["month"]), int(parts["day"])
    else:
        first, second = int(parts["first"]), int(parts["second"])
        if first <= 12 and second <= 12 and first != second:
            return None
        month, day = min(first, second), max(first, second)
    try:
        return date(int(parts["year"]), month, day)
    except ValueError:
        return None


def _find_month(name: str) -> int:
    short = name[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else 0


def _find_top_heading(pages: tuple[Page, ...]) -> str | None:
    """Find the title in the top headings of page one, or of page two if page one has no headings.

    On a numbered page the headings are joined, because the first line of a form is often only its issuer.
    """
    for page in pages[:2]:
        headings = [block for block in page.blocks if block.kind is BlockKind.HEADING]
        if headings:
            top = min(block.level for block in headings)
            texts = [collapse(page.text[b.char_start : b.char_end]) for b in headings if b.level == top]
            return _join_titles(texts if page.number else texts[:1])
    return None


def _join_titles(texts: list[str]) -> str | None:
    title = ""
    for text in texts:
        joined = f"{title} – {text}" if title else text
        if looks_like_title(text) and len(joined) <= _MAX_JOINED_TITLE_LENGTH:
            title = joined
    return title or None


def _read_top_lines(pages: tuple[Page, ...]) -> list[str]:
    if not pages:
        return []
    return [line for line in pages[0].text[:8000].split("\n") if line.strip()][:_MAX_TOP_LINES]
