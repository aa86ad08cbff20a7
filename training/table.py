"""Computes the features of every labelled statement: `python training/table.py DATA OUT`.

`OUT` gets `features.npz`, a matrix with a row for each statement, in the order of the file.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from data import Example, read_examples

from sourcebound.contracts.validation.support.features import support_features


def main(folder: Path, out: Path) -> None:
    """Compute the features and write them."""
    examples = read_examples(folder)
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(compute, examples, chunksize=200))
    names = list(rows[0])
    out.mkdir(parents=True, exist_ok=True)
    matrix = np.array([[row[name] for name in names] for row in rows], dtype=np.int32)
    np.savez_compressed(out / "features.npz", matrix=matrix, names=np.array(names))
    print(matrix.shape, "rows and features")


def compute(example: Example) -> dict[str, int]:
    """Return the features of one statement."""
    features, _ = support_features(example.statement, last_sentence(example.previous), example.question, example.texts)
    return features


def last_sentence(text: str) -> str:
    """Return the statement before: what is shown of an answer's earlier sentences is cut to its end."""
    return text[-300:]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
