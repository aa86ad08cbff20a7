"""Code keeps its indentation from the file to the prompt."""

from textwrap import dedent

import pytest

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.prepare import LexicalCounter
from support.loading import Load, blocks

CODE = "    for item in items:\n        if item.ok:\n            print(item)\n\n        return None"
FILES = {
    "a.md": f"# Tool\n\nUse it:\n\n```python\n{CODE}\n```\n\nThen go on.\n",
    "b.md": f"# Tool\n\nUse it:\n\n{CODE}\n\nThen go on.\n",
    "a.html": f"<h1>Tool</h1><p>Use it:</p><pre>\n{CODE}\n</pre><p>Then go on.</p>",
    "b.html": "<pre>" + "".join(f"<div>{line}</div>" for line in CODE.split("\n")) + "</pre>",
    "c.html": "<pre><code>" + CODE.replace("\n", "<br>") + "<button>Copy</button></code></pre>",
    "a.rst": f"Tool\n====\n\nUse it::\n\n{CODE}\n\nThen go on.\n",
    "b.rst": f".. code-block:: python\n   :caption: Loop\n\n{CODE}\n\nThen go on.\n",
    "a.txt": f"Use it in this way:\n\n{CODE}\n\nThen go on.\n",
}


def chunks(document: ParsedDocument, most: int) -> list[str]:
    found = chunk_document(document, "KB", LexicalCounter(), most)
    for chunk in found:
        assert document.pages[0].text[chunk.char_start : chunk.char_end] == chunk.text
    return [chunk.text for chunk in found]


@pytest.mark.contract("R2-S2")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("most", [12, 300])
def test_every_line_of_code_keeps_its_indentation(load: Load, name: str, most: int) -> None:
    """With the smaller size, the code is cut between its lines."""
    document = load(name, FILES[name])
    (code,) = blocks(document.pages[0], BlockKind.CODE)
    written = dedent(CODE) if name.endswith(".rst") else CODE  # the indentation of a block is its mark there
    assert written in code
    shown = [sanitize(chunk, "safe_normalize_v2").text for chunk in chunks(document, most)]
    lines = [line for chunk in shown for line in chunk.split("\n")]
    kept = written.replace("\n\n", "\n").split("\n")
    assert [line for line in lines if line.strip() and line in kept] == kept


def test_lines_of_a_text_file_keep_their_indentation_on_the_page(load: Load) -> None:
    text = "- care\n  - seals\n    - inner seal\n\ndef run():\n    one()\n\n    two()\n    three()"
    (page,) = load("a.txt", text).pages
    assert page.text == text
    assert blocks(page, BlockKind.LIST_ITEM) == ["- care", "- seals", "- inner seal"]
    assert blocks(page, BlockKind.CODE) == ["    two()\n    three()"]


@pytest.mark.parametrize(
    "text",
    [
        "NAME\n\n    pump - move water\n\nUSE\n\n    pump [options] file\n\n    pump stop\n\n    pump start",
        "A quotation:\n\n    The pump runs all day, and no one hears it.\n\nIt is known.",
        "A list:\n\n    - one\n    - two\n\nIt is long.",
        ".. note::\n\n  Keep the pump dry.\n\nThen go on.",
    ],
)
def test_indented_prose_is_no_code(load: Load, text: str) -> None:
    (page,) = load("a.txt", text).pages
    assert blocks(page, BlockKind.CODE) == []
    assert page.text == text


def test_a_very_long_indentation_does_not_make_a_chunk_too_large(load: Load) -> None:
    document = load("a.md", "```\nx\n" + " " * 50_000 + "y\n```")
    assert max(map(len, chunks(document, 20))) <= 16 * 21


@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_a_line_before_a_table_leaves_its_head_alone(load: Load, name: str) -> None:
    table = {
        "a.md": "These are the torques:\n| Part | Torque |\n|---|---|\n| Bolt | 27 N·m |\n",
        "a.html": "These are the torques:<table><tr><th>Part<th>Torque<tr><td>Bolt<td>27 N·m</table>",
    }
    (page,) = load(name, table[name]).pages
    assert page.text == "These are the torques:\n\nPart: Bolt; Torque: 27 N·m"
    assert blocks(page, BlockKind.TABLE_ROW) == ["Part: Bolt; Torque: 27 N·m"]
