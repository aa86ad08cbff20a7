"""A stream of bundles is split whatever its chunks, and a broken bundle affects no other (R1-1, R2-V1)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebound.contracts.evidence import bundle_readers as bundle_stream
from sourcebound.contracts.evidence.bundle_readers import BundleReader, StreamedBundle
from sourcebound.contracts.evidence.intake import check_bundle, unreadable
from sourcebound.contracts.outcome import FailureCode
from support.builders import JsonObject, bundle, policy, row

ONE, TWO, THREE = ({"request_id": name, "results": [{"rank": 0}, {}]} for name in ("one", "two", "three"))
WORDS = st.text(max_size=8)
VALUES = st.dictionaries(WORDS, st.one_of(WORDS, st.lists(st.dictionaries(WORDS, WORDS, max_size=2), max_size=2)))


def _read(data: bytes, size: int | None = None, max_bytes: int = 1000) -> list[StreamedBundle]:
    reader = BundleReader(max_bytes)
    found: list[StreamedBundle] = []
    for start in range(0, len(data), size or max(len(data), 1)):
        found += reader.feed(data[start : start + (size or len(data))])
    return [*found, *reader.close()]


def _bundles(data: str, size: int | None = None) -> list[JsonObject | str]:
    return [found.bundle for found in _read(data.encode(), size)]


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize(
    "written",
    [
        "\n".join(map(json.dumps, (ONE, TWO, THREE))),
        "\r\n\r\n".join(map(json.dumps, (ONE, TWO, THREE))) + "\r\n",
        "".join(map(json.dumps, (ONE, TWO, THREE))),
        "\n".join(json.dumps(each, indent=2) for each in (ONE, TWO, THREE)),
        " ".join(json.dumps(each, indent="\t") for each in (ONE, TWO, THREE)) + "\n",
        "\n".join(json.dumps(each, indent=0) for each in (ONE, TWO, THREE)),
        "\n".join(json.dumps(each).replace("[", "[\n").replace("}, ", "},\n") for each in (ONE, TWO, THREE)),
        "\ufeff" + json.dumps(ONE, indent=1) + "\n" + json.dumps(TWO) + json.dumps(THREE),
    ],
    ids=["lines", "blank lines", "one line", "indented", "end to end", "not indented", "a row a line", "mixed"],
)
def test_bundles_are_found_however_they_are_written_and_cut(written: str, size: int | None) -> None:
    assert _bundles(written, size) == [ONE, TWO, THREE]


@pytest.mark.contract("R1-1")
@settings(max_examples=30)
@given(st.lists(VALUES, max_size=3), st.integers(1, 40), st.sampled_from([None, 0, 4]))
def test_what_is_written_as_json_comes_back(values: list[dict[str, Any]], size: int, indent: int | None) -> None:
    written = "\n".join(json.dumps(value, indent=indent, ensure_ascii=False) for value in values)
    assert [found.bundle for found in _read(written.encode(), size, 10_000)] == values


@pytest.mark.contract("R1-1")
def test_a_line_is_given_as_soon_as_it_has_ended() -> None:
    reader, lines = BundleReader(), [json.dumps(each).encode() + b"\n" for each in (ONE, TWO)]
    assert [[found.bundle for found in reader.feed(line)] for line in lines] == [[ONE], [TWO]]


LONGER: JsonObject = {"results": [{"rank": rank, "chunk_text": "x" * rank} for rank in range(9)], "top_k": 9}
BRACKETS: JsonObject = {"a": '}]"}{[\\', '{"]': [{"b": "\\\\"}, [[]], {}], "end": "\\"}
FORMS: dict[str, Callable[[object], str]] = {
    "one line": json.dumps,
    "indented": lambda each: json.dumps(each, indent=2),
    "not indented": lambda each: json.dumps(each, indent=0),
    "broken within": lambda each: json.dumps(each, separators=(",\n\n ", ":\n")),
    "a blank before": lambda each: "\t" + json.dumps(each, indent=1).replace("\n", "\r\n "),
    "end to end": lambda each: json.dumps(each, indent=0) + json.dumps(each, indent=0),
}


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sent", [LONGER, BRACKETS], ids=["rows", "brackets in strings"])
def test_a_retriever_that_waits_for_the_response_to_a_bundle_gets_it(form: str, sent: JsonObject) -> None:
    reader, written = BundleReader(), FORMS[form](sent)
    for _ in range(3):
        found = [each.bundle for each in reader.feed(f"{written}\n".encode())]
        assert found == ([sent, sent] if form == "end to end" else [sent])


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("oops", "Expecting value"),
        ("[]", "it holds no JSON object but a list"),
        ('{"a": }', "Expecting value"),
        ('{"a": 1,\n "b": 2,\n}', "double quotes"),
        ('{"a": "one \\"[[\ntwo"}', "Invalid control character"),
        ("]]}", "Expecting value"),
    ],
)
def test_one_that_waits_for_the_response_to_what_is_broken_gets_it(broken: str, reason: str) -> None:
    reader = BundleReader()
    for _ in range(3):
        (found,) = reader.feed(f"{broken}\n".encode())
        assert reason in found.fault
    assert [found.bundle for found in reader.feed(json.dumps(ONE).encode() + b"\n")] == [ONE]


CUT_OFF = ['{"a": 1', '{"a": "x', '{"a": 1,', '{"a": [', '{"a":', '{"a": [{"b": "c"}, {']


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("cut", CUT_OFF)
@pytest.mark.parametrize(("blank", "indent"), [("", None), ("", 2), (" ", None), ("\t", None)])
def test_a_line_that_is_cut_off_costs_no_bundle_after_it(cut: str, blank: str, indent: int | None) -> None:
    after = [json.dumps(each, indent=indent) for each in (TWO, THREE)]
    fault, *others = _read("\n".join(blank + each for each in (cut, *after)).encode())
    assert (fault.line, bool(fault.fault), [each.bundle for each in others]) == (1, True, [TWO, THREE])


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize(
    "long",
    [
        '{"a": "%s"}' % ("x" * 2000),
        ' {"a": [\n%s{}\n]}' % ('{"b": "xx"},\n' * 200),
        '{"a": [\n' + f'"{"x" * 2000}",\n' * 2 + "0]}",
        '{"a": [\n"' + "x" * 2000,
    ],
    ids=["a line", "rows", "lines", "cut off"],
)
def test_each_bundle_that_is_too_long_is_refused_once_and_the_ones_after_it_are_read(long: str) -> None:
    *faults, second, third = _read(f"{long}\n{long}\n {json.dumps(TWO)}\n{json.dumps(THREE)}".encode())
    assert [(fault.line, "longer than 1000" in fault.fault) for fault in faults] == [
        (1, True), (long.count("\n") + 2, True),
    ]  # fmt: skip
    assert [second.bundle, third.bundle] == [TWO, THREE]


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("not json", "it is not JSON: Expecting value"),
        ('{"request_id": }', "it is not JSON: Expecting value, line 1 column 16"),
        ('{"request_id": "x"', "it is not JSON: Expecting ',' delimiter"),
        ('{"request_id": "x",', "it is not JSON: Expecting property name"),
        ('{"request_id": "x", "results": [', "it is not JSON: Expecting value"),
        ('{"a": 1}, {"b": 2}', "it is not JSON"),
        ("[]", "it holds no JSON object but a list"),
        ("null", "it holds no JSON object but null"),
        ("17", "it holds no JSON object but a number"),
        ('"bundle"', "it holds no JSON object but a text"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "a number is too long"),
        ("{" + " " * 200_000 + "}", "it is longer than 150000 bytes"),
    ],
)
def test_what_is_broken_is_named_with_its_line_and_costs_no_other(broken: str, reason: str) -> None:
    found = _read(f"{json.dumps(ONE)}\n\n{broken}\n{json.dumps(TWO)}\n{json.dumps(THREE)}".encode(), 997, 150_000)
    (fault,) = [each for each in found if each.fault]
    assert (fault.line, reason in fault.fault) == (3, True), fault
    assert [each.bundle for each in found if not each.fault and each.bundle != {"a": 1}] == [ONE, TWO, THREE]
    (violation,) = check_bundle(fault.bundle, policy()).violations
    assert (violation.code, violation.clause, violation.message) == (
        FailureCode.INVALID_SCHEMA, "R2-V1", f"unreadable: {fault.fault}",
    )  # fmt: skip


def test_what_is_not_utf8_is_broken() -> None:
    first, second = _read(b'{"a": "\xff"}\n{"b": 1}\n')
    assert (first.line, "it is not UTF-8" in first.fault, second.bundle) == (1, True, {"b": 1})


def test_what_is_broken_over_several_lines_is_one_fault() -> None:
    cut = json.dumps(ONE, indent=2)[:-2]
    found = _read(f"{cut}\n{json.dumps(TWO)}".encode())
    assert [(each.line, bool(each.fault)) for each in found] == [(1, True), (cut.count("\n") + 2, False)]


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("ending", ["", "\n"])
def test_no_more_than_one_bundle_is_held(ending: str) -> None:
    reader, long = BundleReader(max_bytes=1000), ("[x" * 50 + ending).encode()
    found = [each for _ in range(10_000) for each in reader.feed(long)]
    assert sum(len(line.text) for line in reader._lines) + len(reader._line or b"") <= 1000
    found += reader.feed(b"\n" + json.dumps(ONE).encode() + b"\n")
    assert [(bool(each.fault), each.bundle == ONE) for each in found] == [(True, False), (False, True)]


def test_a_bundle_that_goes_on_is_not_read_again_with_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    decode = bundle_stream._decode

    def counted(lines: list[Any]) -> tuple[list[object], str]:
        looked.append(len(lines))
        return decode(lines)

    monkeypatch.setattr(bundle_stream, "_decode", counted)
    (found,) = _read(b'{"a":\n[\n' + b"{}\n,\n" * 5000 + b"{}]}", max_bytes=100_000)
    assert (found.fault, [count for count in looked if count]) == ("", [10_003])


@pytest.mark.parametrize("data", [b"", b"\n\n", b"  \n\t"])
def test_nothing_holds_no_bundle(data: bytes) -> None:
    assert _read(data) == []


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("sent", [{"unreadable": "ha"}, bundle([row()], unreadable="ha"), {"results": "ha"}])
def test_no_object_that_is_sent_is_taken_for_what_stands_in_the_place_of_one(sent: JsonObject) -> None:
    (found,) = _read(json.dumps(sent).encode() + b"\n")
    assert (found.bundle, found.fault) == (sent, "")
    violations = check_bundle(found.bundle, policy()).violations
    assert [violation.message for violation in violations if "ha" in violation.message] == []
    assert bool(violations) == (len(sent) == 1)
    assert all(violation.field for violation in violations)


@pytest.mark.contract("R2-V1")
def test_a_text_in_the_place_of_a_bundle_is_said_to_be_none_and_not_shown_whole() -> None:
    (violation,) = check_bundle(unreadable("x" * 5000), policy()).violations
    assert violation.message.startswith("unreadable: xxx")
    assert len(violation.message) < 400
