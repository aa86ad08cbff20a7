"""Reads the tensors of a network that `export.py` wrote: `python training/reader/earlier.py NETWORK OUT`.

A further training begins with them. They are those of eight bits, so they differ a little from what was trained.
`export.py` makes the same file of them again. Only writing them needs safetensors.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

Array = np.ndarray[Any, Any]
WHOLE: Final = "_quantized"
BLOCKS: Final = "_Q8"
ZERO: Final = 128
"""The number of a block that means nothing."""
TURNED: Final = ("mid.weight", "head.weight", "none.weight")
"""Matrices that are floats in the network. It has all matrices the other way around."""
VECTORS: Final = ("places", "segments")


def read_tensors(network: onnx.ModelProto) -> Iterator[tuple[str, Array]]:
    """Yield the tensors of the network as `network.SentenceNetwork` names them, without the word vectors."""
    found = {
        each.name: numpy_helper.to_array(each)
        for each in network.graph.initializer
        if each.data_location != TensorProto.EXTERNAL
    }
    for name, value in found.items():
        base = name.removesuffix(WHOLE).removesuffix(BLOCKS)
        if name.endswith(WHOLE):
            numbers = value.astype(np.float32) - found[f"{base}_zero_point"].astype(np.float32)
            yield base, (numbers * found[f"{base}_scale"]).T
        elif name.endswith(BLOCKS):
            numbers = value.astype(np.float32) - ZERO
            yield base, (numbers * found[f"{base}_scales"][..., None]).reshape(len(value), -1)
        elif name in TURNED:
            yield name, value.T
        elif name in VECTORS or name.endswith((".weight", ".bias")):
            yield name, value


def main() -> None:
    """Write the tensors."""
    from safetensors.numpy import save_file

    network = onnx.load(sys.argv[1], load_external_data=False)
    save_file({name: np.ascontiguousarray(value) for name, value in read_tensors(network)}, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
