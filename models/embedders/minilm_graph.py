"""Writes `minilm.onnx`: the computation of all-MiniLM-L6-v2, without its weights.

Rule: the file holds only arithmetic, about 25 KB. Every weight is a reference (name and byte range) into the pinned
`model.safetensors`, which ONNX Runtime maps like any external data. So nothing is copied or transposed in Python at
start-up, and no third-party weights are shipped. The file is built once instead of at each start, because importing
`onnx` would cost as much as opening the session. `onnx` is therefore needed for development, not at run time.

One run embeds one text: no padding, no mask, and no influence of other texts on its vector.

Run `python -m sourcebound.models.embedders.minilm_graph` after a change here. A test compares the file with this
module.
"""

import json
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from sourcebound.models.embedders.minilm import (
    DIMENSIONS,
    GRAPH_FILE,
    INPUT,
    OUTPUT,
    WEIGHTS,
    check_file,
    installed_weights,
)

LAYERS = 6
HEADS = 12
HEAD_SIZE = 32
OPSET = 20
IR_VERSION = 10
LAYER_NORM_EPSILON = 1e-12


class GraphBuilder:
    """Collects the nodes and the weight references of one graph.

    Args:
        weights: The safetensors file. Only its header is read.
    """

    def __init__(self, weights: Path) -> None:
        with weights.open("rb") as file:
            header_size = int.from_bytes(file.read(8), "little")
            self._header = json.loads(file.read(header_size))
        self._data_start = 8 + header_size
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def weight(self, name: str) -> str:
        """Add a reference to the tensor called `name` in the safetensors file, and return the name."""
        start, end = self._header[name]["data_offsets"]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=self._header[name]["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": WEIGHTS.name, "offset": self._data_start + start, "length": end - start}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.initializers[name] = tensor
        return name

    def integers(self, *values: int) -> str:
        """Add a constant list of integers, such as a shape or axes, and return its name."""
        name = "integers_" + "_".join(map(str, values))
        self.initializers[name] = helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
        return name

    def scalar(self, name: str, value: float) -> str:
        """Add a constant number and return its name."""
        self.initializers[name] = helper.make_tensor(name, TensorProto.FLOAT, [], [value])
        return name

    def apply(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its only output."""
        name = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def linear(self, value: str, name: str) -> str:
        """Add a dense layer. `transB` reads the weights in the order of the file, [out, in]."""
        return self.apply("Gemm", value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), transB=1)

    def normalise(self, value: str, name: str) -> str:
        """Add a layer normalisation of each row."""
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.apply("LayerNormalization", value, scale, bias, axis=-1, epsilon=LAYER_NORM_EPSILON)


def build_graph(weights: Path) -> onnx.ModelProto:
    """Build the model from word-piece ids [tokens] to a unit vector [384].

    Args:
        weights: The safetensors file of all-MiniLM-L6-v2. Only its header is read.

    Returns:
        An ONNX model whose weights are external data.
    """
    builder = GraphBuilder(weights)
    hidden = _embed_tokens(builder)
    for layer in range(LAYERS):
        hidden = _add_layer(builder, hidden, f"encoder.layer.{layer}")
    mean = builder.apply("ReduceMean", hidden, builder.integers(0), keepdims=0)
    builder.apply("LpNormalization", mean, output=OUTPUT, axis=-1, p=2)
    graph = helper.make_graph(
        builder.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(INPUT, TensorProto.INT64, ["tokens"])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [DIMENSIONS])],
        list(builder.initializers.values()),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _embed_tokens(builder: GraphBuilder) -> str:
    """Add the embedding: word + position + segment 0, normalised: [tokens, 384]."""
    words = builder.apply("Gather", builder.weight("embeddings.word_embeddings.weight"), INPUT)
    length = builder.apply("Shape", INPUT)
    table = builder.weight("embeddings.position_embeddings.weight")
    positions = builder.apply("Slice", table, builder.integers(0), length, builder.integers(0))
    segment = builder.apply("Gather", builder.weight("embeddings.token_type_embeddings.weight"), builder.integers(0))
    total = builder.apply("Add", builder.apply("Add", words, positions), segment)
    return builder.normalise(total, "embeddings.LayerNorm")


def _add_layer(builder: GraphBuilder, hidden: str, name: str) -> str:
    """Add one transformer layer: [tokens, 384] to [tokens, 384]."""
    attended = builder.linear(_attend(builder, hidden, f"{name}.attention.self"), f"{name}.attention.output.dense")
    hidden = builder.normalise(builder.apply("Add", hidden, attended), f"{name}.attention.output.LayerNorm")
    widened = builder.apply("Gelu", builder.linear(hidden, f"{name}.intermediate.dense"))
    narrowed = builder.linear(widened, f"{name}.output.dense")
    return builder.normalise(builder.apply("Add", hidden, narrowed), f"{name}.output.LayerNorm")


def _attend(builder: GraphBuilder, hidden: str, name: str) -> str:
    """Add self-attention over all tokens, before its output projection: [tokens, 384]."""
    per_head = builder.integers(-1, HEADS, HEAD_SIZE)

    def heads(part: str, order: tuple[int, int, int]) -> str:
        split = builder.apply("Reshape", builder.linear(hidden, f"{name}.{part}"), per_head)
        return builder.apply("Transpose", split, perm=order)

    query, key, value = heads("query", (1, 0, 2)), heads("key", (1, 2, 0)), heads("value", (1, 0, 2))
    scale = builder.scalar("attention_scale", HEAD_SIZE**-0.5)
    scores = builder.apply("Mul", builder.apply("MatMul", query, key), scale)
    mixed = builder.apply("MatMul", builder.apply("Softmax", scores, axis=-1), value)
    joined = builder.apply("Transpose", mixed, perm=(1, 0, 2))
    return builder.apply("Reshape", joined, builder.integers(-1, DIMENSIONS))


def write_graph(target: Path = GRAPH_FILE) -> Path:
    """Build the graph for the installed weights and write it.

    Args:
        target: The file to write.

    Returns:
        The file written.

    Raises:
        ModelError: The weights are missing or are not the pinned ones.
    """
    weights = check_file(installed_weights(), WEIGHTS)
    target.write_bytes(build_graph(weights).SerializeToString(deterministic=True))
    return target


if __name__ == "__main__":
    print(write_graph())
