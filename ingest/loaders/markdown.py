"""Reads Markdown: prose stays as written, so that a quotation can be found in the file; table rows are linearised.

Raw HTML in the file is text like any other. Front matter is metadata and not part of the page; of what it states only
title, date and revision are believed, because a document must not declare its own authority.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer
from sourcebound.ingest.loaders.metadata import describe, parse_date
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.loaders.text import decode
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from markdown_it.token import Token

MEDIA_TYPE = "text/markdown"

_FRONT_MATTER = re.compile(r"\s*(?P<fence>---|\+\+\+)[ \t]*\n(?P<body>.*?)\n(?P=fence)[ \t]*(?:\n|$)", re.DOTALL)
_ENTRY = re.compile(r"(?P<key>[A-Za-z_][\w-]*)\s*[:=]\s*(?P<value>[^\n]+)")
_ATX = re.compile(r"(?P<marks>[ ]{0,3}#{1,6}[ \t]+)(?P<title>.*?)(?:[ \t]+#+)?[ \t]*")
_KINDS = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "html_block": BlockKind.PARAGRAPH,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "heading_open": BlockKind.HEADING,
    "table_open": BlockKind.TABLE_ROW,
}
_DATE_KEYS = ("date", "event_date", "effective_date")
_REVISION_KEYS = ("revision", "rev")


class _Stretch(NamedTuple):
    """Lines `first` to `last` (exclusive) of the file; `rows` only for a table, `level` only for a heading."""

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()


def load_markdown(path: Path, data: bytes) -> ParsedDocument:
    """Read a Markdown file.

    Args:
        path: The file, for messages and as the title of last resort.
        data: Its bytes.

    Returns:
        One page, number None. A heading's block is its title without the `#` marks, which stay on the page before it.

    Raises:
        DocumentError: EMPTY or UNREADABLE.
    """
    declared, text = _split_front_matter(decode(path, data))
    composer = PageComposer()
    lines = text.split("\n")
    for stretch in _stretches(text, len(lines)):
        _add(composer, stretch, lines[stretch.first : stretch.last])
    page = composer.page()
    if not page.text:
        raise failures.empty(path)
    metadata = describe(
        path,
        (page,),
        title=declared.get("title"),
        revision=_first(declared, _REVISION_KEYS),
        event_date=parse_date(_first(declared, _DATE_KEYS) or ""),
    )
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=metadata, pages=(page,))


def _split_front_matter(text: str) -> tuple[dict[str, str], str]:
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    entries = {
        entry["key"].lower(): entry["value"] for entry in map(_ENTRY.fullmatch, match["body"].split("\n")) if entry
    }
    if not entries:
        return {}, text
    return {key: value.strip().strip("\"'") for key, value in entries.items()}, text[match.end() :]


def _first(declared: dict[str, str], keys: Sequence[str]) -> str | None:
    return next((declared[key] for key in keys if declared.get(key)), None)


def _stretches(text: str, line_count: int) -> Iterator[_Stretch]:
    """Split the file into stretches of whole lines; lines without a token (such as link definitions) are paragraphs."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    covered = 0
    for stretch in _from_tokens(tokens):
        if stretch.first < covered:
            continue
        if stretch.first > covered:
            yield _Stretch(BlockKind.PARAGRAPH, covered, stretch.first)
        yield stretch
        covered = stretch.last
    yield _Stretch(BlockKind.PARAGRAPH, covered, line_count)


def _from_tokens(tokens: Sequence["Token"]) -> Iterator[_Stretch]:
    item_starts: list[int] = []
    for position, token in enumerate(tokens):
        if token.type == "list_item_open" and token.map:
            item_starts.append(token.map[0])
        kind = _KINDS.get(token.type)
        if kind is None or token.map is None:
            continue
        first, last = token.map
        if first in item_starts and kind is BlockKind.PARAGRAPH:
            kind = BlockKind.LIST_ITEM
        if kind is BlockKind.TABLE_ROW:
            yield _Stretch(kind, first, last, rows=_table_rows(tokens[position:]))
        else:
            yield _Stretch(kind, first, last, level=int(token.tag[1]) if kind is BlockKind.HEADING else 0)


def _table_rows(tokens: Sequence["Token"]) -> tuple[tuple[str, ...], ...]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token.content)
    return tuple(map(tuple, rows))


def _add(composer: PageComposer, stretch: _Stretch, lines: Sequence[str]) -> None:
    if stretch.rows:
        for row in linearise(stretch.rows, has_header=True):
            composer.add(BlockKind.TABLE_ROW, row)
        return
    if stretch.kind is not BlockKind.HEADING:
        composer.add(stretch.kind, "\n".join(lines))
        return
    atx = _ATX.fullmatch(lines[0]) if lines else None
    if atx:
        composer.add(BlockKind.HEADING, atx["title"], level=stretch.level, prefix=atx["marks"].lstrip())
    else:
        composer.add(BlockKind.HEADING, "\n".join(lines[:-1]), level=stretch.level)
