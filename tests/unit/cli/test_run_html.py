"""The page of a run in each of its forms: nothing that a document or a question says can leave its place."""

import base64
import hashlib
import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any, Final
from xml.etree.ElementTree import Element

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebound.cli.records.run_html import render_html
from sourcebound.cli.records.run_show import print_lines, print_tables
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.run_page.page import RunPage, RunRecord, make_run_page
from sourcebound.contracts.text.sanitize import one_line, visible
from sourcebound.contracts.validation.quotes import Quote
from support.builders import FILTER, SEAL, generation, row
from support.recorded_runs import ANSWER, page_of, recorded

TWO = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
WRONG = f"{SEAL} [C0] It is blue. See (C0) [C1]. As said before [C17]."
HOSTILE: Final = (
    '<script>alert(1)</script><img src=x onerror=alert(2)>"\' onmouseover="alert(3)" </style></title><!-- {{ 7*7 }} '
    "{% raw %} &lt; javascript:alert(4) \u202egnp\x1b[31mred\x1b]0;title\x07"
)
ELEMENTS: Final = frozenset(
    "html head meta title style body header main nav section article h1 h2 h3 p ul li a dl dt dd div span code em br "
    "table caption thead tbody tr th td details summary svg rect mark".split()
)
ATTRIBUTES: Final = frozenset(
    "lang charset content http-equiv name id class href dir role tabindex scope aria-label aria-labelledby aria-hidden "
    "focusable data-label width height rx".split()
)
PAGES: Final = {
    "answered": recorded(ANSWER, TWO),
    "refused": recorded(results=[row(similarity_score=0.4)]),
    "rejected twice": recorded(WRONG, TWO, earlier=(WRONG,)),
    "no answer": recorded(generation("", outcome=fail("generate", FailureCode.MODEL_TIMEOUT, "it took too long"))),
    "bad bundle": recorded(results=[row(similarity_score=7)]),
    "empty answer": recorded("", TWO),
    "facts": recorded(ANSWER, TWO, facts={"filter": "local", "min_question_overlap": 0.1}),
    "a choice of facts": recorded(ANSWER, TWO, facts={"filter": "model"}, choice="Both of them."),
    "only its row": recorded(head={"question": None, "status": "RUNNING", "finished_at": None})._replace(
        state={}, nodes=(), records=()
    ),
}


def parse(text: str) -> Element:
    """The document; anything that the standard calls an error is an exception."""
    tree: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    return tree


def elements(tree: Element) -> Iterator[tuple[str, dict[str, str]]]:
    for element in tree.iter():
        yield str(element.tag).rpartition("}")[2], {str(name): value for name, value in element.attrib.items()}


def check_harmless(text: str) -> None:
    """Known elements and attributes alone, links within the page, and nothing from elsewhere."""
    found = list(elements(parse(text)))
    assert {tag for tag, _ in found} <= ELEMENTS
    assert {name for _, attributes in found for name in attributes} <= ATTRIBUTES
    identities = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(identities) == len(set(identities))
    assert {attributes["href"][1:] for _, attributes in found if "href" in attributes} <= set(identities)
    assert {attributes["href"][:1] for _, attributes in found if "href" in attributes} <= {"#"}
    labels = {attributes["aria-labelledby"] for _, attributes in found if "aria-labelledby" in attributes}
    assert labels <= set(identities)


def words(tree: Element) -> str:
    return " ".join("".join(tree.itertext()).split())


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_well_formed_and_needs_nothing_from_elsewhere(name: str) -> None:
    text = render_html(page_of(PAGES[name], with_prompt=True))
    check_harmless(text)
    assert not re.search(r"url\(|@import|https?:|//|\bsrc=|\bstyle=|\bon\w+=", text)
    assert text.count("<h1") == 1


def test_only_the_page_s_own_style_is_allowed() -> None:
    found = list(parse(render_html(page_of(PAGES["answered"]))).iter())
    (style,) = [element.text or "" for element in found if element.tag == "style"]
    (policy,) = [element.attrib["content"] for element in found if element.attrib.get("http-equiv")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    rules = [rule.strip() for rule in policy.split(";")]
    assert rules == ["default-src 'none'", f"style-src 'sha256-{digest}'", "base-uri 'none'", "form-action 'none'"]


def test_a_citation_leads_to_its_evidence() -> None:
    tree = parse(render_html(page_of(PAGES["answered"])))
    links = [(element.text, element.attrib["href"]) for element in tree.iter("a")]
    assert links.count(("[C0]", "#source-C0")) == 3  # in the answer, in the list of sources and in the statement
    (source,) = [element for element in tree.iter("article") if element.attrib["id"] == "source-C0"]
    assert SEAL in words(source)


def test_a_citation_that_was_invented_leads_nowhere() -> None:
    tree = parse(render_html(page_of(PAGES["rejected twice"])))
    assert "As said before [C17]." in words(tree)
    assert {element.attrib["href"] for element in tree.iter("a")} >= {"#source-C0", "#source-C1"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("answered", ["OK", "similarity0.900, 0.500 needed", "matches its hash and the previous one"]),
        ("refused", ["NO_EVIDENCE", "below_similarity_gate", "No chunk is close enough to the question to answer it."]),
        (
            "rejected twice",
            [
                "No answer was released.",
                "UNCITED_FACTUAL_STATEMENT (R5-6) statement 2 has no citation: It is blue.",
                "MALFORMED_CITATION (R5-3) a citation is malformed; write [C0]: (C0)",
                "INVALID_CITATION_REFERENCE (R5-4) [C17] names no source of this prompt: C17",
                "prose_v1 + repair_v1",
                "number 12 hours stands in C0",
            ],
        ),
        ("no answer", ["MODEL_TIMEOUT", "generate: it took too long"]),
        ("bad bundle", ["INVALID_SIMILARITY", "less than or equal to 1"]),
        ("empty answer", ["EMPTY_ANSWER (R5-1) the answer is empty"]),
        ("only its row", ["RUNNING", "sourcebound runs resume run-1", "(the question was not recorded)"]),
    ],
)
def test_what_a_page_says(name: str, said: list[str]) -> None:
    found = words(parse(render_html(page_of(PAGES[name]))))
    assert [text for text in said if text not in found] == []


def hostile_page(hostile: str, question: str = "", answer: str = ANSWER) -> RunPage:
    """A page on which every text that someone else wrote is hostile."""
    places = {name: hostile for name in ("chunk_id", "title", "section", "source_reference", "equipment_id", "origin")}
    changes: dict[str, Any] = {"knowledge_id": hostile, "authority": hostile, **places}
    made = generation(answer, model_name=hostile, provider=hostile, response_id=hostile, finish_reason=hostile)
    asked: dict[str, Any] = {"request_id": hostile, "collection": hostile, "model": hostile, "thread_id": hostile}
    kept = recorded(
        made,
        [row(0, chunk_text=SEAL, **changes), row(1, chunk_text=FILTER, **{**changes, "chunk_id": "other"})],
        question=question or hostile,
        **asked,
    )
    return page_of(kept, with_prompt=True)


def shape(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of a page and the names of their attributes."""
    return [(tag, tuple(attributes)) for tag, attributes in elements(parse(text))]


@cache
def plain_shape() -> list[tuple[str, tuple[str, ...]]]:
    return shape(render_html(hostile_page("x")))


@settings(max_examples=25, deadline=timedelta(seconds=5))
@given(st.text(min_size=1).map(lambda text: f"x{text}x"))
def test_no_value_changes_the_shape_of_the_page(hostile: str) -> None:
    text = render_html(hostile_page(hostile))
    assert shape(text) == plain_shape()


def test_hostile_values_stand_on_the_page_as_text() -> None:
    text = render_html(hostile_page(HOSTILE))
    check_harmless(text)
    assert shape(text) == plain_shape()
    assert words(parse(text)).count(one_line(HOSTILE)) > 10


@settings(max_examples=15, deadline=timedelta(seconds=5))
@given(
    st.lists(st.sampled_from([HOSTILE, "[C0]", "[C1]", "[C9]", "(C0)", SEAL, "\n\n# ", "\n- ", "12 bar"]), max_size=9)
)
def test_no_answer_leaves_its_place(parts: list[str]) -> None:
    page = hostile_page("x", HOSTILE, answer=" ".join(parts))
    check_harmless(render_html(page))


@pytest.mark.parametrize("show", [print_lines, print_tables])
def test_no_value_steers_the_terminal(show: Any, capsys: pytest.CaptureFixture[str]) -> None:
    show(hostile_page(HOSTILE))
    printed = capsys.readouterr().out
    assert visible(printed) == printed
    assert "[31mred" in printed


@pytest.mark.parametrize("show", [print_lines, print_tables])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_printed(show: Any, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of(PAGES[name], with_prompt=True)
    show(page)
    printed = capsys.readouterr().out
    assert page.head.status in printed
    assert ("Audit record" in printed or "\nrecord " in printed) == bool(page.records)


def test_every_line_of_a_pipe_begins_with_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(page_of(PAGES["rejected twice"], with_prompt=True))
    lines = capsys.readouterr().out.splitlines()
    names = "question|status|reason|broken|answer|run|candidate|evidence|prompt|call|statement|node|record"
    assert [line for line in lines if not re.match(rf"(?:{names}) |(?:    |$)", line)] == []
    assert sum(line.startswith("statement ") and "breaks a rule" in line for line in lines) == 6
    assert [line.split()[1:3] for line in lines if line.startswith("node ")] == [
        ["accept", "OK"],
        ["retrieve", "OK"],
        ["package", "OK"],
    ]


def marked(record: RunRecord, readable: bool = True) -> list[str]:
    page = page_of(record) if readable else make_run_page(record, ())
    return ["".join(mark.itertext()) for mark in parse(render_html(page)).iter("mark")]


@pytest.mark.contract("R6-7")
def test_the_words_that_the_answer_rests_on_are_marked_in_their_source() -> None:
    long = [row(0, chunk_text=f"Before. {SEAL} After."), row(1, chunk_text=FILTER)]
    assert marked(recorded(ANSWER, long)) == [SEAL]


@pytest.mark.contract("R6-7")
def test_quotes_that_overlap_are_marked_once_and_no_text_is_lost() -> None:
    page = page_of(recorded(ANSWER, [row(0, chunk_text=f"{SEAL} {FILTER}")]))
    (source,) = page.sources
    length = len(source.chunk.sanitized_text)
    spans = [(0, 9), (4, 14), (5, 8), (14, 20), (length - 3, length)]
    quotes = tuple(Quote(statement=1, start=start, end=end) for start, end in spans)
    shown = parse(render_html(page.model_copy(update={"sources": (source.model_copy(update={"quotes": quotes}),)})))
    text = source.chunk.sanitized_text
    marks = ["".join(mark.itertext()) for mark in shown.iter("mark")]
    assert marks == [text[0:9], text[9:14], text[14:20], text[-3:]]
    assert text in words(shown)


@pytest.mark.contract("R6-4", "R6-7")
@pytest.mark.parametrize("record", [recorded(WRONG, TWO), recorded(results=[row(similarity_score=0.4)])])
def test_nothing_is_marked_if_no_answer_was_released(record: RunRecord) -> None:
    assert marked(record) == []


@pytest.mark.contract("R6-7")
def test_nothing_is_marked_in_a_document_that_may_not_be_read_any_more() -> None:
    assert marked(recorded(ANSWER, TWO), readable=False) == []
