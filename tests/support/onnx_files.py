"""Tiny ONNX models with a tokenizer, in the layout of exported ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

SPECIAL = ["[UNK]", "[CLS]", "[SEP]"]


def write_tokenizer(folder: Path, words: Sequence[str], special: Sequence[str] = ()) -> None:
    """Write `tokenizer.json` for whole words; the special tokens come first."""
    vocabulary = [*SPECIAL, *words]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(["[CLS]", "[SEP]", *special])
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))


def write_network(folder: Path, graph: onnx.GraphProto) -> None:
    """Write `model.onnx`."""
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, folder / "model.onnx")


def token_input(name: str) -> onnx.ValueInfoProto:
    """Return an input with one number for each token of one text."""
    return helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"])


def write_cross_encoder(folder: Path, weights: Mapping[str, float], scores: int = 1) -> Path:
    """Write a model that adds the weights of the words of the second text.

    Args:
        folder: Where to write it.
        weights: The known words.
        scores: How many equal scores it gives a pair; a reranker has 1.

    Returns:
        The folder.
    """
    write_tokenizer(folder, list(weights))
    values = np.array([0.0] * len(SPECIAL) + list(weights.values()), np.float32)
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "second"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "axis"], ["sum"], keepdims=1),
        helper.make_node("Expand", ["sum", "shape"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(values, "weights"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
        numpy_helper.from_array(np.array([1, scores], np.int64), "shape"),
    ]
    inputs = [token_input(name) for name in ("input_ids", "attention_mask", "token_type_ids")]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, scores])
    write_network(folder, helper.make_graph(nodes, "cross-encoder", inputs, [logits], constants))
    return folder
