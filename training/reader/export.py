"""Writes the network for the product: `python training/reader/export.py TARGET TRAINED…`.

`TRAINED` are files that `train.py` writes; the network is their mean. The matrices become whole numbers of eight bits.
Those that narrow a layer have the widest inputs, so their inputs are rounded in blocks. The inputs of the others are
rounded as a whole, and only seven bits of their weights are used, so that sums do not overflow on processors without
instructions for such products. The last layers and all vectors stay floats, and the word vectors refer to the weights
of the embedder.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from network import EPSILON, HEAD_SIZE, HEADS, LAYERS, WIDTH, SentenceNetwork
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from safetensors.torch import load_file

from sourcebound.models.embedders.minilm import WEIGHTS, check_file, installed_weights
from sourcebound.models.embedders.minilm_graph import IR_VERSION, OPSET, GraphBuilder
from sourcebound.models.sentence_reader import MOST_TOKENS

WORDS: Final = "words"
"""The word vectors, which are an input until the matrices have been made whole numbers."""
PARTS: Final = "parts"
"""The segment of each word-piece."""
EXACT: Final = ("mid", "head", "none")
ORIGIN: Final = (
    "Derived from all-MiniLM-L6-v2 (Apache-2.0): its layers were trained on and quantised, and heads were added."
)
BLOCK: Final = 128
WHOLE_INPUT: Final = 4
"""ONNX Runtime's level for inputs of eight bits."""


class NetworkBuilder(GraphBuilder):
    """Collects the nodes of the network with its trained weights."""

    def __init__(self, weights: Path, network: SentenceNetwork) -> None:
        super().__init__(weights)
        self._trained = {name: value.detach().numpy() for name, value in network.state_dict().items()}

    def constant(self, name: str, value: Any) -> str:
        """Add an array and return its name."""
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def trained(self, name: str) -> str:
        """Add a trained tensor and return its name."""
        return self.constant(name, self._trained[name])

    def linear(self, value: str, name: str) -> str:
        """Add a dense layer."""
        matrix = self.constant(f"{name}.weight", self._trained[f"{name}.weight"].T)
        product = self.apply("MatMul", value, matrix, output=f"product.{name}")
        return self.apply("Add", product, self.trained(f"{name}.bias"))

    def normalise(self, value: str, name: str) -> str:
        """Add a layer normalisation of each row."""
        scale, bias = self.trained(f"{name}.weight"), self.trained(f"{name}.bias")
        return self.apply("LayerNormalization", value, scale, bias, axis=-1, epsilon=EPSILON)


def build(builder: NetworkBuilder) -> onnx.ModelProto:
    """Build the network from word vectors [tokens, 384] to the scores of the sentences and of none of them."""
    length = builder.apply("Shape", WORDS, start=0, end=1)
    zero = builder.integers(0)
    places = builder.apply("Slice", builder.trained("places"), zero, length, zero)
    segments = builder.apply("Gather", builder.trained("segments"), PARTS)
    hidden = builder.apply("Add", builder.apply("Add", WORDS, places), segments)
    hidden = builder.normalise(hidden, "norm")
    for number in range(LAYERS):
        hidden = _add_layer(builder, hidden, f"layers.{number}")
    sentences = builder.apply(
        "Add", builder.apply("MatMul", "means", hidden), builder.apply("Gather", hidden, "firsts")
    )
    read = builder.apply("Gelu", builder.linear(sentences, "mid"))
    one = builder.integers(1)
    builder.apply("Squeeze", builder.linear(read, "head"), one, output="sentences")
    nothing = builder.linear(builder.apply("Gather", hidden, zero), "none")
    builder.apply("Squeeze", nothing, one, output="nothing")
    for node in builder.nodes:
        node.name = node.output[0]
    graph = helper.make_graph(
        builder.nodes,
        "sentence-reader",
        [
            helper.make_tensor_value_info(WORDS, TensorProto.FLOAT, ["tokens", WIDTH]),
            helper.make_tensor_value_info(PARTS, TensorProto.INT64, ["tokens"]),
            helper.make_tensor_value_info("means", TensorProto.FLOAT, ["sentences", "tokens"]),
            helper.make_tensor_value_info("firsts", TensorProto.INT64, ["sentences"]),
        ],
        [
            helper.make_tensor_value_info("sentences", TensorProto.FLOAT, ["sentences"]),
            helper.make_tensor_value_info("nothing", TensorProto.FLOAT, [1]),
        ],
        list(builder.initializers.values()),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _add_layer(builder: NetworkBuilder, hidden: str, name: str) -> str:
    attended = builder.linear(_attend(builder, hidden, name), f"{name}.output")
    hidden = builder.normalise(builder.apply("Add", hidden, attended), f"{name}.first")
    widened = builder.apply("Gelu", builder.linear(hidden, f"{name}.wide"))
    return builder.normalise(builder.apply("Add", hidden, builder.linear(widened, f"{name}.narrow")), f"{name}.second")


def _attend(builder: NetworkBuilder, hidden: str, name: str) -> str:
    shape = builder.integers(-1, HEADS, HEAD_SIZE)

    def heads(part: str, order: tuple[int, int, int]) -> str:
        split = builder.apply("Reshape", builder.linear(hidden, f"{name}.{part}"), shape)
        return builder.apply("Transpose", split, perm=order)

    query, key, value = heads("query", (1, 0, 2)), heads("key", (1, 2, 0)), heads("value", (1, 0, 2))
    scores = builder.apply("MatMul", query, key)
    scores = builder.apply("Mul", scores, builder.scalar("attention_scale", HEAD_SIZE**-0.5))
    mixed = builder.apply("MatMul", builder.apply("Softmax", scores, axis=-1), value)
    joined = builder.apply("Transpose", mixed, perm=(1, 0, 2))
    return builder.apply("Reshape", joined, builder.integers(-1, WIDTH))


def refer_to_words(model: onnx.ModelProto, weights: Path) -> None:
    """Replace the input of word vectors by ids and a reference to the embedder's file."""
    words = GraphBuilder(weights)
    table = words.weight("embeddings.word_embeddings.weight")
    model.graph.node.insert(0, helper.make_node("Gather", [table, "token_ids"], [WORDS]))
    model.graph.initializer.append(words.initializers[table])
    (given,) = (each for each in model.graph.input if each.name == WORDS)
    model.graph.input.remove(given)
    model.graph.input.insert(0, helper.make_tensor_value_info("token_ids", TensorProto.INT64, ["tokens"]))


def make_whole(plain: Path, whole: Path) -> onnx.ModelProto:
    """Replace the matrices by whole numbers.

    Args:
        plain: The file of the network.
        whole: A file to write on the way.
    """
    exact = [f"product.{name}" for name in EXACT]
    narrow = [f"product.layers.{number}.narrow" for number in range(LAYERS)]
    quantize_dynamic(
        plain,
        whole,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=["MatMul"],
        nodes_to_exclude=exact + narrow,
        extra_options={"MatMulConstBOnly": True},
    )
    blocks = MatMulNBitsQuantizer(
        onnx.load(whole),
        bits=8,
        block_size=BLOCK,
        is_symmetric=True,
        accuracy_level=WHOLE_INPUT,
        nodes_to_exclude=exact,
    )
    blocks.process()
    model: onnx.ModelProto = blocks.model.model
    return model


def main() -> None:
    """Read the trained tensors and write the network."""
    target, *files = map(Path, sys.argv[1:])
    weights = check_file(installed_weights(), WEIGHTS)
    network = SentenceNetwork(load_file(weights), MOST_TOKENS)
    trained = [load_file(file) for file in files]
    mean = {name: sum(each[name].float() for each in trained) / len(trained) for name in trained[0]}
    network.load_state_dict(mean, strict=False)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain.onnx")
        onnx.save(build(NetworkBuilder(weights, network)), plain)
        model = make_whole(plain, Path(folder, "whole.onnx"))
    refer_to_words(model, weights)
    model.doc_string = ORIGIN
    target.write_bytes(model.SerializeToString(deterministic=True))
    print(target, target.stat().st_size)


if __name__ == "__main__":
    main()
