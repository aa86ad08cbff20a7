"""Helpers that the tests of every loader share: they write small files and load them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sourcebound.contracts.corpus.document import BlockKind, Page, ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.loaders.select import load_document

LIMIT = 10_000_000


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., ParsedDocument]:
    def load_bytes(name: str, data: bytes | str, limit: int = LIMIT) -> ParsedDocument:
        path = tmp_path / name
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return load_document(path, limit)

    return load_bytes


Load = Callable[..., ParsedDocument]


def blocks(page: Page, kind: BlockKind | None = None) -> list[str]:
    return [page.text[b.char_start : b.char_end] for b in page.blocks if kind is None or b.kind is kind]


def headings(document: ParsedDocument) -> list[tuple[int, str]]:
    return [
        (block.level, page.text[block.char_start : block.char_end])
        for page in document.pages
        for block in page.blocks
        if block.kind is BlockKind.HEADING
    ]


def refusal(load: Load, name: str, data: bytes | str, limit: int = LIMIT) -> DocumentError:
    with pytest.raises(DocumentError) as raised:
        load(name, data, limit)
    assert name in raised.value.message
    assert raised.value.next_step
    return raised.value
