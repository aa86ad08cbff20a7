"""The loader of Markdown.

Prose keeps its Markdown source, so that a quotation can be found in the file. Table rows are linearised. Raw HTML is
ordinary text. Front matter is metadata and not part of the page, unless a file has its text there and nothing else.
Only its title, date and revision are used, because a document must not declare its own authority.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sourcebound.contracts.corpus.document import BlockKind, Page, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer
from sourcebound.ingest.loaders.metadata import build_metadata, parse_date
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.loaders.text import decode
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from markdown_it.token import Token

MEDIA_TYPE = "text/markdown"

_FRONT_MATTER = re.compile(r"\s*(?P<fence>---|\+\+\+)[ \t]*\n(?P<body>.*?)\n(?P=fence)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_MATTER_ENTRY = re.compile(r"(?P<key>[A-Za-z_][\w-]*)\s*[:=]\s*(?P<value>[^\n]+)")
_ATX_HEADING = re.compile(r"(?P<marks>[ ]{0,3}#{1,6}[ \t]+)(?P<title>.*?)(?:[ \t]+#+)?[ \t]*")
_BLOCK_KINDS = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "html_block": BlockKind.PARAGRAPH,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "heading_open": BlockKind.HEADING,
    "table_open": BlockKind.TABLE_ROW,
}
_LEAST_PROSE = 12
"""The words of a line that is more than a title or a description in short."""
_DATE_KEYS = ("date", "event_date", "effective_date")
_REVISION_KEYS = ("revision", "rev")


class _LineSpan(NamedTuple):
    """The lines `lines[first:end]` of the file that form one block. `rows` is for tables, `level` for headings."""

    kind: BlockKind
    first: int
    end: int
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()


def load_markdown(path: Path, data: bytes) -> ParsedDocument:
    """Read a Markdown file.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.

    Returns:
        A document of one page without a number. A heading block is the title alone; its `#` marks precede the block.

    Raises:
        DocumentError: With the code EMPTY or UNREADABLE.
    """
    decoded = decode(path, data)
    front_matter, text = _split_front_matter(decoded)
    page = _compose(text)
    if not page.text and front_matter:
        page = _compose(_read_prose(decoded))
    if not page.text:
        raise failures.empty(path)
    metadata = build_metadata(
        path,
        (page,),
        title=front_matter.get("title"),
        revision=_find_first(front_matter, _REVISION_KEYS),
        event_date=parse_date(_find_first(front_matter, _DATE_KEYS) or ""),
    )
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=metadata, pages=(page,))


def _compose(text: str) -> Page:
    composer = PageComposer()
    lines = text.split("\n")
    for span in _split_into_spans(text, len(lines)):
        _add_span(composer, span, lines[span.first : span.end])
    return composer.page()


def _read_prose(text: str) -> str:
    """Return front matter that holds the text of a page, as some content management systems store it; else nothing."""
    match = _FRONT_MATTER.match(text)
    body = match["body"] if match else ""
    return body if any(len(line.split()) >= _LEAST_PROSE for line in body.split("\n")) else ""


def _split_front_matter(text: str) -> tuple[dict[str, str], str]:
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    entries = {
        entry["key"].lower(): entry["value"]
        for entry in map(_FRONT_MATTER_ENTRY.fullmatch, match["body"].split("\n"))
        if entry
    }
    if not entries:
        return {}, text
    return {key: value.strip().strip("\"'") for key, value in entries.items()}, text[match.end() :]


def _find_first(front_matter: dict[str, str], keys: Sequence[str]) -> str | None:
    return next((front_matter[key] for key in keys if front_matter.get(key)), None)


def _split_into_spans(text: str, line_count: int) -> Iterator[_LineSpan]:
    """Split the file into spans of whole lines. Lines without a token, such as link definitions, are paragraphs."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    next_line = 0
    for span in _iter_token_spans(tokens):
        if span.first < next_line:
            continue
        if span.first > next_line:
            yield _LineSpan(BlockKind.PARAGRAPH, next_line, span.first)
        yield span
        next_line = span.end
    yield _LineSpan(BlockKind.PARAGRAPH, next_line, line_count)


def _iter_token_spans(tokens: Sequence["Token"]) -> Iterator[_LineSpan]:
    item_starts: list[int] = []
    for position, token in enumerate(tokens):
        if token.type == "list_item_open" and token.map:
            item_starts.append(token.map[0])
        kind = _BLOCK_KINDS.get(token.type)
        if kind is None or token.map is None:
            continue
        first, end = token.map
        if first in item_starts and kind is BlockKind.PARAGRAPH:
            kind = BlockKind.LIST_ITEM
        if kind is BlockKind.TABLE_ROW:
            yield _LineSpan(kind, first, end, rows=_read_table_rows(tokens[position:]))
        else:
            yield _LineSpan(kind, first, end, level=int(token.tag[1]) if kind is BlockKind.HEADING else 0)


def _read_table_rows(tokens: Sequence["Token"]) -> tuple[tuple[str, ...], ...]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token.content)
    return tuple(map(tuple, rows))


def _add_span(composer: PageComposer, span: _LineSpan, lines: Sequence[str]) -> None:
    if span.rows:
        for row in linearise(span.rows, has_header=True):
            composer.add(BlockKind.TABLE_ROW, row)
        return
    if span.kind is not BlockKind.HEADING:
        composer.add(span.kind, "\n".join(lines))
        return
    atx = _ATX_HEADING.fullmatch(lines[0]) if lines else None
    if atx:
        composer.add(BlockKind.HEADING, atx["title"], level=span.level, prefix=atx["marks"].lstrip())
    else:
        composer.add(BlockKind.HEADING, "\n".join(lines[:-1]), level=span.level)
