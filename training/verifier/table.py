"""Computes the features of every labelled and made statement: `python training/verifier/table.py DATA OUT [SET ...]`.

`OUT` gets `features.npz`: a matrix with a row for each statement, in the order of `read_all`, and their ids. The sets
that are named are left out, because some have long evidence and are for measuring only.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from changes import read_all
from data import Example

from sourcebound.contracts.validation.support.features import support_features


def main(folder: Path, out: Path, left_out: frozenset[str]) -> None:
    """Compute the features and write them."""
    examples = [example for example in read_all(folder) if example.source not in left_out]
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(compute, examples, chunksize=200))
    names = list(rows[0])
    out.mkdir(parents=True, exist_ok=True)
    matrix = np.array([[row[name] for name in names] for row in rows], dtype=np.int32)
    np.savez_compressed(
        out / "features.npz", matrix=matrix, names=np.array(names), ids=np.array([e.id for e in examples])
    )
    print(matrix.shape, "rows and features")


def read_table(folder: Path, out: Path) -> tuple[list[Example], np.ndarray[Any, Any], list[str]]:
    """Return the statements of a table, their features, and the names of the features."""
    table = np.load(out / "features.npz")
    ids = set(table["ids"].tolist())
    examples = [example for example in read_all(folder) if example.id in ids]
    if [example.id for example in examples] != table["ids"].tolist():
        raise SystemExit(f"{out}/features.npz is of other statements. Run table.py again.")
    return examples, table["matrix"], table["names"].tolist()


def compute(example: Example) -> dict[str, int]:
    """Return the features of one statement."""
    features, _ = support_features(example.statement, last_sentence(example.previous), example.question, example.texts)
    return features


def last_sentence(text: str) -> str:
    """Return the statement before: what is shown of an answer's earlier sentences is cut to its end."""
    return text[-300:]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), frozenset(sys.argv[3:]))
