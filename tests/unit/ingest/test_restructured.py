"""reStructuredText: what `docutils` reads, what other tools add to it, and what it cannot read."""

from pathlib import Path

import pytest

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.loaders.markup import restructured
from sourcebound.ingest.loaders.markup.restructured import MEDIA_TYPE
from support.loading import Load, blocks, refusal

TEXTS = {
    "a note in its line": (".. note:: Tall grass stops it.", ["Note: Tall grass stops it."]),
    "a warning of two paragraphs": (
        ".. warning::\n\n   Never open it.\n\n   Not once.",
        ["Warning: Never open it.", "Not once."],
    ),
    "a titled admonition": (".. admonition:: Tests\n\n   Run them.", ["Tests", "Run them."]),
    "a directive of another tool": (".. hint-box:: Care\n   :class: wide\n\n   Grease it.", ["Care", "Grease it."]),
    "a setting of another tool": (
        ".. confval:: timeout\n   :type: int\n   :default: 30\n\n   The seconds.",
        ["timeout", "type: int", "default: 30", "The seconds."],
    ),
    "a change": (".. versionchanged:: 3.3\n   Now faster.", ["Changed in version 3.3", "Now faster."]),
    "a list of files": (".. toctree::\n   :maxdepth: 2\n\n   usage\n   api\n\nIt runs.", ["It runs."]),
    "a condition": (".. only:: html\n\n   It runs.", ["It runs."]),
    "roles of another tool": (
        "See :ref:`the guide <guide>`, :kbd:`Ctrl-C` and :py:func:`~os.path.join`.",
        ["See the guide, Ctrl-C and os.path.join."],
    ),
    "links and targets": (".. _start:\n\nSee `the page <http://a.example>`_ and ``code``.", ["See the page and code."]),
    "a comment": (".. Not for readers.\n\nIt runs.", ["It runs."]),
    "a definition": ("Gland\n  The seal of a shaft.", ["Gland: The seal of a shaft."]),
    "a field": (":Author: Jane", ["Author: Jane"]),
    "a file that it names": (".. include:: /etc/hostname\n\nIt runs.", ["It runs."]),
    "raw text": (".. raw:: html\n\n   <b>bold</b>\n\nIt runs.", ["It runs."]),
    "a short line below a heading": ("Pumps and fans\n====\n\nThey run.", ["They run."]),
}
GRID = "+------+-----+\n| Name | Set |\n+======+=====+\n| A    | 1   |\n+------+-----+"
TABLES = {
    "a grid": GRID,
    "a grid directly below a line": f"Parameters:\n{GRID}",
    "a simple table": "==== ===\nName Set\n==== ===\nA    1\n==== ===",
    "a list of rows": ".. list-table:: T\n   :header-rows: 1\n\n   * - Name\n     - Set\n   * - A\n     - 1",
    "values with commas": '.. csv-table::\n   :header: "Name", "Set"\n\n   "A", "1"',
}
CODES = {
    "a block": "Use it::\n\n   y = 2\n",
    "a directive": ".. code-block:: python\n   :linenos:\n   :caption: Use\n\n   y = 2\n",
    "doctests": ">>> y = 2\n",
}


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_as_it_is_shown(load: Load, name: str) -> None:
    text, shown = TEXTS[name]
    document = load("a.rst", text)
    assert blocks(document.pages[0], BlockKind.PARAGRAPH) == shown
    assert blocks(document.pages[0], BlockKind.CODE) == []
    assert document.media_type == MEDIA_TYPE


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize("name", TABLES)
def test_a_row_has_the_names_of_its_columns(load: Load, name: str) -> None:
    assert blocks(load("a.rst", TABLES[name]).pages[0], BlockKind.TABLE_ROW) == ["Name: A; Set: 1"]


@pytest.mark.contract("IX-1")
def test_the_first_row_of_a_table_without_a_head_is_a_row(load: Load) -> None:
    line = f"{'=' * 9} {'=' * 13}"
    document = load("a.rst", f"{line}\n``a.flt`` Bits 0 to 31\n``b.flt`` Bits 32 to 63\n{line}")
    assert blocks(document.pages[0], BlockKind.TABLE_ROW) == ["a.flt: Bits 0 to 31", "b.flt: Bits 32 to 63"]


@pytest.mark.parametrize("name", CODES)
def test_code_is_code(load: Load, name: str) -> None:
    (code,) = blocks(load("a.rst", CODES[name]).pages[0], BlockKind.CODE)
    assert "y = 2" in code
    assert "linenos" not in code


@pytest.mark.contract("IX-1")
def test_what_docutils_cannot_read_stays_as_it_is_written(load: Load) -> None:
    document = load("a.rst", "It runs.\n\n+----+---+\n| a | b |\n+--+---+\n")
    assert blocks(document.pages[0], BlockKind.CODE) == ["+----+---+\n| a | b |\n+--+---+"]


@pytest.mark.contract("IX-1")
def test_a_text_that_is_nested_too_deeply_is_read_as_plain_text(load: Load) -> None:
    text = "".join(f"{' ' * depth}It runs.\n" for depth in range(400))
    assert load("a.rst", text).pages[0].text.count("It runs.") == 400


@pytest.mark.contract("IX-1")
def test_a_text_that_docutils_fails_on_is_read_as_plain_text(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> str:
        raise AssertionError

    monkeypatch.setattr(restructured, "to_html", fail)
    document = load("a.rst", ".. note:: It runs.")
    assert document.pages[0].text == ".. note:: It runs."


@pytest.mark.parametrize("limit", ["MOST_CHARACTERS", "LONGEST_LINE"])
def test_a_long_text_or_line_is_read_as_plain_text(load: Load, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(restructured, limit, 18)
    texts = [load("a.rst", f".. note:: It {verb}.").pages[0].text for verb in ("runs", "stops")]
    assert texts == ["Note: It runs.", ".. note:: It stops."]


def test_a_text_without_words_for_readers_is_empty(load: Load) -> None:
    assert refusal(load, "a.rst", " \n").failure_code == "EMPTY"


def test_its_first_heading_is_its_title(load: Load) -> None:
    assert load("a.rst", "Grease guns\n===========\n\nThey run.").metadata.title == "Grease guns"


def test_a_heading_has_no_number_that_is_not_written(load: Load) -> None:
    document = load("a.rst", ".. contents::\n.. sectnum::\n\nGuns\n====\n\nThey run.\n\nCare\n----\n\nGrease them.")
    assert blocks(document.pages[0], BlockKind.HEADING) == ["Guns", "Care"]


def test_no_directive_reads_a_file(load: Load, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("4711")
    named = [f".. include:: {secret}", f".. csv-table::\n   :file: {secret}", f".. raw:: html\n   :file: {secret}"]
    literal = f".. literalinclude:: {secret}"
    assert "4711" not in load("a.rst", "\n\n".join([*named, literal, "It runs."])).pages[0].text
