"""Chunking: offsets, budgets, cuts and ids, over hand-made documents and over generated ones."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.corpus.document import Block, BlockKind, Chunk, DocumentMetadata, Page, ParsedDocument
from sourcebound.contracts.text.sentences import split_sentences
from sourcebound.ingest.chunking import splitting
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.chunking.page_text import PageComposer
from sourcebound.ingest.chunking.splitting import MAX_CHARACTERS_PER_TOKEN


class WordCounter:
    """One token a word and one a punctuation mark, as a simple tokenizer counts."""

    def __init__(self) -> None:
        self.characters = 0

    def count_tokens(self, text: str) -> int:
        self.characters += len(text)
        return len(re.findall(r"\w+|[^\w\s]", text))


class CharacterCounter:
    """Counts more for a whole than for its parts: white space costs tokens too."""

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 3)


def _document(*pages: Page) -> ParsedDocument:
    return ParsedDocument(media_type="text/plain", metadata=DocumentMetadata(title="T"), pages=pages)


def _page(*blocks: tuple[BlockKind, str, int], index: int = 0, number: int | None = None) -> Page:
    composer = PageComposer()
    for kind, text, level in blocks:
        composer.add(kind, text, level)
    return composer.page(index, number)


def heading(text: str, level: int = 1) -> tuple[BlockKind, str, int]:
    return BlockKind.HEADING, text, level


def prose(text: str) -> tuple[BlockKind, str, int]:
    return BlockKind.PARAGRAPH, text, 0


def row(text: str) -> tuple[BlockKind, str, int]:
    return BlockKind.TABLE_ROW, text, 0


def item(text: str) -> tuple[BlockKind, str, int]:
    return BlockKind.LIST_ITEM, text, 0


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count))


def cut(document: ParsedDocument, most: int, target: int | None = None) -> list[Chunk]:
    return chunk_document(document, "KB", WordCounter(), most, target)


def texts(chunks: Iterable[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


_KINDS = st.sampled_from([kind for kind in BlockKind if kind is not BlockKind.FURNITURE])
_TEXT = st.text(alphabet=st.sampled_from("ab é\n\t .!?7;:漢😀#-\u00a0\u0301"), max_size=120)


@st.composite
def _pages(draw: st.DrawFn) -> Page:
    text = draw(_TEXT)
    ends = sorted(draw(st.lists(st.integers(0, len(text) + 3), max_size=8)))
    blocks = []
    for start, end in pairwise(ends):
        kind = draw(_KINDS)
        level = draw(st.integers(1, 3)) if kind is BlockKind.HEADING else 0
        blocks.append(Block(kind=kind, char_start=max(0, start - draw(st.integers(0, 2))), char_end=end, level=level))
    return Page(index=0, number=1, text=text, blocks=tuple(blocks))


def _begins_with_the_indentation_of_code(page: Page, chunk: Chunk) -> bool:
    """Whether the white space before a chunk's first word begins its line, and is in a block of code."""
    first = chunk.char_start + len(chunk.text) - len(chunk.text.lstrip())
    is_indentation = page.text[: chunk.char_start].endswith(("\n", "")[not chunk.char_start :]) and (
        "\n" not in page.text[chunk.char_start : first]
    )
    in_code = (b.kind is BlockKind.CODE and b.char_start <= first < b.char_end for b in page.blocks)
    return is_indentation and any(in_code)


@given(page=_pages(), most=st.integers(1, 30), by_characters=st.booleans())
def test_every_chunk_is_found_on_its_page_and_fits(page: Page, most: int, by_characters: bool) -> None:
    counter = CharacterCounter() if by_characters else WordCounter()
    chunks = chunk_document(_document(page), "KB", counter, most)
    position = 0
    for chunk in chunks:
        assert page.text[chunk.char_start : chunk.char_end] == chunk.text
        assert chunk.text.strip()
        assert chunk.text == chunk.text.rstrip()
        assert not chunk.text[0].isspace() or _begins_with_the_indentation_of_code(page, chunk)
        assert counter.count_tokens(chunk.text) <= most or len(chunk.text) == 1
        assert chunk.char_start >= position
        position = chunk.char_end
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)


@given(page=_pages(), most=st.integers(1, 30))
def test_no_letter_or_digit_is_left_out(page: Page, most: int) -> None:
    covered = "".join(texts(cut(_document(page), most)))
    assert re.findall(r"\w", covered) == re.findall(r"\w", page.text)


@given(page=_pages(), most=st.integers(1, 30))
def test_chunking_is_deterministic(page: Page, most: int) -> None:
    assert cut(_document(page), most) == cut(_document(page), most)


def test_a_chunk_never_crosses_a_page() -> None:
    chunks = cut(_document(_page(prose("one two"), number=1), _page(prose("three"), index=1, number=2)), 50)
    assert [(chunk.text, chunk.page_index, chunk.page_number) for chunk in chunks] == [
        ("one two", 0, 1),
        ("three", 1, 2),
    ]


def test_a_heading_starts_a_new_chunk_when_the_open_one_has_enough() -> None:
    page = _page(heading("Alpha"), prose(words(8)), heading("Beta"), prose(words(8, "other")))
    chunks = cut(_document(page), 20)
    assert texts(chunks) == [f"Alpha\n\n{words(8)}", f"Beta\n\n{words(8, 'other')}"]
    assert [chunk.heading_path for chunk in chunks] == [("Alpha",), ("Beta",)]


def test_small_sections_share_a_chunk() -> None:
    page = _page(heading("Alpha"), prose("a b"), heading("Beta"), prose("c d"))
    assert texts(cut(_document(page), 60)) == ["Alpha\n\na b\n\nBeta\n\nc d"]


def test_a_heading_stays_with_the_text_below_it() -> None:
    page = _page(prose(words(14)), heading("Section"), prose(words(14, "next")))
    assert texts(cut(_document(page), 20)) == [words(14), f"Section\n\n{words(14, 'next')}"]


def test_a_heading_keeps_some_of_a_text_that_would_fill_a_chunk_alone() -> None:
    page = _page(heading("Long section"), prose(words(20)))
    chunks = texts(cut(_document(page), 20))
    assert chunks[0].startswith("Long section\n\nword0")
    assert len(chunks) == 2


def test_heading_path_follows_levels_across_pages() -> None:
    first = _page(heading("Manual"), heading("Safety", 2), prose(words(9)), number=1)
    second = _page(
        prose(words(9, "still")), heading("Repair", 2), heading("Seal", 3), prose(words(9, "new")), index=1, number=2
    )
    paths = [chunk.heading_path for chunk in cut(_document(first, second), 15)]
    assert paths == [("Manual", "Safety"), ("Manual", "Safety"), ("Manual", "Repair", "Seal")]


def later(chunk: Chunk) -> list[tuple[str, tuple[str, ...]]]:
    """The first word of each later section, and its headings."""
    return [(chunk.text[each.char_start :].split()[0], each.heading_path) for each in chunk.later_sections]


@pytest.mark.contract("R1-10")
def test_a_chunk_knows_where_further_sections_begin_in_it() -> None:
    page = _page(
        heading("Seal"), heading("Test", 2), prose("a b"), heading("Care", 2), prose("c d"), heading("Oil"),
        heading("Change", 2), prose("e f"),
    )  # fmt: skip
    (chunk,) = cut(_document(page), 60)
    assert chunk.heading_path == ("Seal", "Test")
    assert later(chunk) == [("Care", ("Seal", "Care")), ("Oil", ("Oil", "Change"))]


@pytest.mark.contract("R1-10")
def test_headings_in_a_row_begin_one_section_only_where_each_is_under_the_one_before() -> None:
    page = _page(heading("Alpha"), prose("a b"), heading("Beta"), heading("Gamma"), heading("Delta", 2), prose("c d"))
    (chunk,) = cut(_document(page), 60)
    assert later(chunk) == [("Beta", ("Beta",)), ("Gamma", ("Gamma", "Delta"))]


@pytest.mark.contract("R1-10")
def test_a_small_section_that_is_joined_to_the_chunk_before_it_keeps_its_name() -> None:
    first, last = prose(words(16)), prose("the end")
    (chunk,) = cut(_document(_page(heading("Alpha"), first, heading("Beta"), last)), 30, 24)
    assert later(chunk) == [("Beta", ("Beta",))]


@pytest.mark.contract("R1-10")
def test_a_chunk_that_is_cut_again_names_each_part_by_its_own_section() -> None:
    page = _page(heading("Alpha"), prose("aa aa"), heading("Beta"), *[prose("bb")] * 11)
    chunks = list(chunk_document(_document(page), "doc", CharacterCounter(), 19, 19))
    assert len(chunks) == 2
    assert later(chunks[0]) == [("Beta", ("Beta",))]
    assert (chunks[1].heading_path, later(chunks[1])) == (("Beta",), [])


@pytest.mark.contract("R1-10")
def test_a_chunk_of_very_many_headings_is_cut() -> None:
    blocks = [block for number in range(60) for block in (heading(f"H{number}"), prose("a"))]
    chunks = cut(_document(_page(*blocks)), 300)
    assert [len(chunk.later_sections) for chunk in chunks] == [16, 16, 16, 8]


def test_a_wrapped_heading_is_one_line_in_the_path() -> None:
    chunks = cut(_document(_page(heading("Consolidated\nresults"), prose("All good."))), 30)
    assert chunks[0].heading_path == ("Consolidated results",)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentences = [f"Step {number} is to open valve number {number}." for number in range(6)]
    chunks = texts(cut(_document(_page(prose(" ".join(sentences)))), 20))
    assert all(chunk.startswith("Step") and chunk.endswith(".") for chunk in chunks)
    assert " ".join(chunks) == " ".join(sentences)


def test_a_long_sentence_is_cut_between_words() -> None:
    chunks = texts(cut(_document(_page(prose(words(50)))), 10))
    assert " ".join(chunks) == words(50)
    assert {len(chunk.split()) for chunk in chunks} == {10}


def test_text_without_spaces_is_cut_hard() -> None:
    text = "漢字" * 300
    chunks = texts(chunk_document(_document(_page(prose(text))), "KB", CharacterCounter(), 20))
    assert "".join(chunks) == text
    assert max(map(len, chunks)) == 60


def test_a_text_that_the_tokenizer_takes_for_one_word_is_bounded() -> None:
    text = "x" * 5000
    chunks = texts(cut(_document(_page(prose(text))), 10))
    assert "".join(chunks) == text
    assert max(map(len, chunks)) < 200


def test_table_rows_are_not_cut() -> None:
    rows = [f"Part: p{number}; Torque: {number} Nm" for number in range(12)]
    chunks = texts(cut(_document(_page(*map(row, rows))), 25))
    assert len(chunks) > 2
    assert [line for chunk in chunks for line in chunk.split("\n")] == rows


def test_rows_of_a_table_form_smaller_chunks_than_sentences() -> None:
    lines = [f"{words(4)} p{number}" for number in range(8)]
    in_rows = texts(cut(_document(_page(*map(row, lines))), 50, 40))
    assert [len(chunk.split("\n")) for chunk in in_rows] == [4, 4]
    assert len(cut(_document(_page(*map(prose, lines))), 50, 40)) == 1


def items(count: int) -> list[tuple[BlockKind, str, int]]:
    return [item(f"- {words(4, f'p{number}n')}") for number in range(count)]


def lines_of(*blocks: tuple[BlockKind, str, int]) -> str:
    return "\n".join(text for _, text, _ in blocks)


@pytest.mark.parametrize("lead", ["It has these parts:", "It has these parts："])
def test_a_list_stays_with_the_line_that_leads_to_it(lead: str) -> None:
    page = _page(prose(words(16)), prose(lead), *items(4), prose("The end of it."))
    whole = f"{lead}\n\n{lines_of(*items(4))}"
    assert texts(cut(_document(page), 40, 32)) == [words(16), f"{whole}\n\nThe end of it."]


def test_a_list_below_a_heading_is_whole_in_a_chunk_with_it() -> None:
    page = _page(prose(words(10)), heading("Parts"), *items(7))
    assert texts(cut(_document(page), 45, 36)) == [words(10), f"Parts\n\n{lines_of(*items(7))}"]


def test_a_heading_stays_with_the_first_items_of_a_list_that_does_not_fit_below_it() -> None:
    page = _page(heading(words(10, "title")), *items(8))
    first = texts(cut(_document(page), 44))[0]
    assert first.startswith("title")
    assert "- p0n0" in first


def test_the_space_between_items_counts_for_the_size_of_a_chunk() -> None:
    text = "Parts:\n" + "\n".join([f"{' ' * 12}- p0"] * 40)
    places = [match.span() for match in re.finditer(r"Parts:|- p0", text)]
    kinds = [BlockKind.PARAGRAPH, *[BlockKind.LIST_ITEM] * 40]
    blocks = [
        Block(kind=kind, char_start=start, char_end=end) for kind, (start, end) in zip(kinds, places, strict=True)
    ]
    page = Page(index=0, number=None, text=text, blocks=tuple(blocks))
    counter = CharacterCounter()
    chunks = chunk_document(_document(page), "doc", counter, 100)
    assert max(counter.count_tokens(chunk.text) for chunk in chunks) <= 100


def test_a_list_fills_a_chunk_beyond_its_usual_size() -> None:
    page = _page(prose("It has these parts:"), *items(6))
    assert texts(cut(_document(page), 50, 20)) == [f"It has these parts:\n\n{lines_of(*items(6))}"]


def test_a_paragraph_that_does_not_lead_to_a_list_stays_with_the_text_before_it() -> None:
    page = _page(prose(words(16)), prose("It has parts."), *items(6))
    assert texts(cut(_document(page), 40, 32)) == [f"{words(16)}\n\nIt has parts.", lines_of(*items(6))]


def test_a_long_list_is_cut_between_items() -> None:
    chunks = texts(cut(_document(_page(heading("Parts"), prose("It has these parts:"), *items(20))), 40))
    assert chunks[0].startswith("Parts\n\nIt has these parts:\n\n- p0n0")
    assert [line for chunk in chunks for line in chunk.split("\n") if line.startswith("-")] == [
        text for _, text, _ in items(20)
    ]


@pytest.mark.parametrize(("lead", "is_whole"), [((), False), ((prose("It has these parts:"),), True)])
def test_a_list_stays_with_a_short_text_unless_it_has_a_lead_in(
    lead: Iterable[tuple[BlockKind, str, int]], is_whole: bool
) -> None:
    page = _page(heading("Parts"), prose(words(10)), *lead, *items(7))
    chunks = texts(cut(_document(page), 45, 36))
    assert len(chunks) == 2
    assert ("- p0n0" not in chunks[0]) == is_whole


def test_an_item_is_not_cut_where_it_fits_a_chunk() -> None:
    long = " ".join(f"Check part {number} of the pump." for number in range(5))
    page = _page(prose("Some words here."), item(f"- {long}"), prose("The end of it."))
    assert f"- {long}" in "\n".join(texts(cut(_document(page), 36)))


def test_a_row_over_the_window_is_cut() -> None:
    chunks = texts(cut(_document(_page(row(words(25)))), 10))
    assert " ".join(chunks) == words(25)


def test_code_is_cut_between_lines() -> None:
    lines = [f"set register {number}" for number in range(20)]
    chunks = texts(cut(_document(_page((BlockKind.CODE, "\n".join(lines), 0))), 10))
    assert [line for chunk in chunks for line in chunk.split("\n")] == lines


def test_a_small_tail_joins_the_chunk_before_it() -> None:
    page = _page(prose(words(16)), heading("End"), prose("42"))
    assert texts(cut(_document(page), 20)) == [f"{words(16)}\n\nEnd\n\n42"]


def test_a_page_without_blocks_is_cut_at_blank_lines() -> None:
    page = Page(index=0, text=f"{words(9)}\n\n  \n{words(9, 'more')}\n")
    assert texts(cut(_document(page), 10)) == [words(9), words(9, "more")]


def test_marks_between_blocks_are_not_chunks_of_their_own() -> None:
    page = Page(
        index=0, text="## Title\n-----", blocks=(Block(kind=BlockKind.HEADING, char_start=3, char_end=8, level=2),)
    )
    assert texts(cut(_document(page), 10)) == ["Title"]


def test_ids_survive_a_change_elsewhere() -> None:
    section = (heading("Beta"), prose(words(9, "same")))
    before = cut(_document(_page(heading("Alpha"), prose(words(9)), *section)), 15)
    after = cut(_document(_page(heading("Alpha"), prose(words(30, "new")), *section)), 15)
    assert before[-1].chunk_id == after[-1].chunk_id
    assert before[0].chunk_id != after[0].chunk_id
    assert re.fullmatch(r"KB#[0-9a-f]{12}", before[0].chunk_id)


def test_repeated_text_gets_its_number() -> None:
    pages = [_page(prose("Page left blank."), index=index, number=index + 1) for index in range(3)]
    ids = [chunk.chunk_id for chunk in cut(_document(*pages), 30)]
    assert ids == [ids[0], f"{ids[0]}-2", f"{ids[0]}-3"]


def test_the_heading_is_part_of_the_id() -> None:
    one, two = (cut(_document(_page(heading(title), prose(words(20)))), 12)[-1] for title in ("A1", "B2"))
    assert one.text == two.text
    assert one.chunk_id != two.chunk_id


def test_an_empty_document_has_no_chunks() -> None:
    assert cut(_document(Page(index=0, text=" \n\n ")), 10) == []


@pytest.mark.parametrize(("most", "target"), [(0, None), (10, 11), (10, 0)])
def test_impossible_budgets_are_refused(most: int, target: int | None) -> None:
    with pytest.raises(ValueError, match="target_tokens must be between"):
        cut(_document(_page(prose("a"))), most, target)


@pytest.mark.parametrize("unit", ["word ", "A short sentence. ", "x", "A paragraph.\n\n"])
def test_counting_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    def counted(repetitions: int) -> int:
        counter = WordCounter()
        chunk_document(_document(_page(prose(unit * repetitions))), "KB", counter, 50)
        return counter.characters

    assert counted(8000) < counted(2000) * 6


class Stopped(Exception):
    """Raised by a check, as a deadline's would be."""


class WatchedCounter(WordCounter):
    """Remembers the longest text that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0

    def count_tokens(self, text: str) -> int:
        self.longest = max(self.longest, len(text))
        return super().count_tokens(text)


class BlindCounter:
    """Counts nothing for what no reader sees, as a tokenizer does that cleans its text first."""

    def count_tokens(self, text: str) -> int:
        return len(re.findall(r"\w+", text))


def _between(gap: str) -> Page:
    """Two small paragraphs and, between them, what no loader took for text."""
    end = len(gap) + 2
    places = ((0, 1), (end - 1, end))
    blocks = [Block(kind=BlockKind.PARAGRAPH, char_start=start, char_end=stop) for start, stop in places]
    return Page(index=0, text=f"a{gap}b", blocks=tuple(blocks))


HOSTILE = {
    "one line": lambda size: _page(prose("word " * (size // 5))),
    "no space": lambda size: _page(prose("x" * size)),
    "one sentence after another": lambda size: _page(prose("It is so. " * (size // 10))),
    "one heading": lambda size: _page(heading("Head " * (size // 5)), prose("The text.")),
    "one row": lambda size: _page(row("Name: value; " * (size // 13))),
    "one line of code": lambda size: _page((BlockKind.CODE, "a=1;" * (size // 4), 0)),
    "blank in the middle": lambda size: _page(prose("5 mm." + " " * size + ". And")),
    "invisible headings": lambda size: _page(*[heading("\u200b")] * (size // 3)),
    "invisible sections": lambda size: _page(*[heading("\u200b"), prose("\u200b")] * (size // 6)),
    "small paragraphs": lambda size: _page(*[prose("a.")] * (size // 4)),
    "ever deeper headings": lambda size: _page(*[heading(f"h{level}", level) for level in range(1, size // 8)]),
    "marks between blocks": lambda size: _between("-" * size),
    "blanks between blocks": lambda size: _between("\n \n" * (size // 3)),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_no_step_sees_more_of_a_document_than_a_window(make: Callable[[int], Page]) -> None:
    most, counter = 50, WatchedCounter()
    chunks = chunk_document(_document(make(100_000)), "KB", counter, most)
    assert counter.longest <= MAX_CHARACTERS_PER_TOKEN * (most + 1)
    assert max(len(chunk.text) for chunk in chunks) <= MAX_CHARACTERS_PER_TOKEN * (most + 1)


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_sentences_are_sought_in_a_window(make: Callable[[int], Page], monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [0]

    def note(text: str, version: int) -> list[tuple[int, int]]:
        lengths.append(len(text))
        return split_sentences(text, version)

    monkeypatch.setattr(splitting, "split_sentences", note)
    page = make(100_000)
    cut(_document(page), 50)
    assert max(lengths) <= splitting.SENTENCE_WINDOW
    assert sum(lengths) <= 2 * len(page.text)


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_chunking_can_be_ended_after_any_step(make: Callable[[int], Page]) -> None:
    """Wherever it is, what the check raises comes through at once, and the text of at most a window was looked at."""
    document = _document(make(40_000))
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    chunk_document(document, "KB", WordCounter(), 50, check=step)
    assert taken > 1
    for last in {0, taken // 2, taken - 1}:
        left = iter(range(last))

        def check(left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise Stopped

        with pytest.raises(Stopped):
            chunk_document(document, "KB", WordCounter(), 50, check=check)


def _calls(page: Page) -> int:
    """Count the functions and generators entered while a page is chunked: its cost without a clock."""
    entered = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        chunk_document(_document(page), "KB", BlindCounter(), 50)
    finally:
        sys.setprofile(before)
    return entered


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_work_grows_with_the_text_and_not_with_its_square(make: Callable[[int], Page]) -> None:
    small, large = _calls(make(4_000)), _calls(make(32_000))
    assert large < small * 12


@pytest.mark.parametrize("blanks", [" " * 300_000, "\n" * 300_000, " \n" * 150_000])
def test_blanks_are_no_work(blanks: str) -> None:
    """With work that grows with the square of them this would take minutes."""
    chunks = texts(cut(_document(_page(prose(f"It is 5 mm.{blanks}. And wide."))), 50))
    assert " ".join(" ".join(chunks).split()) == "It is 5 mm. . And wide."


def test_a_heading_path_does_not_grow_with_the_document() -> None:
    blocks = [heading(f"{level} " + "long " * 1000, level) for level in range(1, 30)]
    chunks = cut(_document(_page(*blocks, prose(words(20)))), 50)
    assert max(len(chunk.heading_path) for chunk in chunks) == 9
    assert max(len(title) for chunk in chunks for title in chunk.heading_path) <= 200
    assert chunks[-1].heading_path[-1].startswith("29 long")


@pytest.mark.parametrize("size", [splitting.SENTENCE_WINDOW - 7, splitting.SENTENCE_WINDOW * 3])
def test_a_block_over_the_window_is_still_cut_between_sentences(size: int) -> None:
    sentence = "Step one is to open the small valve. "
    chunks = texts(cut(_document(_page(prose(sentence * (size // len(sentence))))), 50))
    assert all(chunk.startswith("Step one") and chunk.endswith("valve.") for chunk in chunks)


SENTENCES = [f"The pump number {number} runs at a pressure of {number} bar in the plant." for number in range(12)]


def _ends(document: ParsedDocument, size: int) -> list[str]:
    return [chunk.text[-1] for chunk in chunk_document(document, "x", WordCounter(), size)]


def test_an_item_that_does_not_fit_below_its_heading_is_cut_between_sentences() -> None:
    heading = "Pumps of the plant in the north hall"
    page = _page((BlockKind.HEADING, heading, 1), (BlockKind.LIST_ITEM, f"(a) {' '.join(SENTENCES[:2])}", 0))
    chunks = chunk_document(_document(page), "x", WordCounter(), 36)
    assert [chunk.text for chunk in chunks] == [f"{heading}\n\n(a) {SENTENCES[0]}", SENTENCES[1]]


def test_a_long_item_with_its_marker_in_brackets_is_cut_between_sentences() -> None:
    page = _page((BlockKind.LIST_ITEM, f"(a) {' '.join(SENTENCES)}", 0))
    assert set(_ends(_document(page), 40)) == {"."}
