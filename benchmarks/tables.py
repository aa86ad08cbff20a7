"""Measure what a large table takes in the index, by the size of the chunks of its rows.

    python benchmarks/tables.py [--rows 5000]

One table of parts with eight columns is ingested as CSV and as XLSX, without an embedder and with the embedded one. Its
vectors are drawn by chance, because only their size counts. Chunks of rows are half as large as those of text
(`ingest/chunking/chunker.py`); for comparison, they are also made as large. An embedded server is made for it and
removed at the end.
"""

import argparse
import asyncio
import csv
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import xlsxwriter

from sourcebound.evals.retrieval import temporary_services
from sourcebound.ingest.chunking import chunker
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.wiring import Services

DIVISORS: Final = (1, 2)
"""The size of text's chunks is divided by this."""
HEAD: Final = ("Part no.", "Description", "Supplier", "Torque", "Stock", "Price", "Location", "Revised")
NAMES: Final = ("bearing", "seal", "shaft", "impeller", "coupling", "gasket", "bolt", "valve", "filter", "sensor")
KINDS: Final = ("front", "rear", "upper", "lower", "inner", "outer", "left", "right")
SUPPLIERS: Final = ("Harbeck", "Olsen & Sons", "Meridian Tools", "Brack AG", "Tanaka", "Voss")
SIZES: Final = """
SELECT (SELECT count(*) FROM chunks) AS chunks, (SELECT coalesce(sum(length(text)), 0) FROM chunks) AS characters,
       sum(pg_total_relation_size(c.oid)) AS bytes
FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
"""


class RandomEmbedder(MiniLmEmbedder):
    """The embedded embedder with its tokens and dimensions, and vectors drawn by chance."""

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        vectors: list[list[float]] = np.random.default_rng(7).normal(size=(len(texts), self.dimensions)).tolist()
        return vectors


def make_rows(count: int) -> list[Sequence[str]]:
    """Return the rows of a table of parts."""
    draw, rows = random.Random(7), list[Sequence[str]]()
    for number in range(count):
        name = f"{draw.choice(KINDS)} {draw.choice(NAMES)} M{draw.randint(4, 48)}"
        place = f"{draw.choice('ABCDEF')}-{draw.randint(1, 40)}-{draw.randint(1, 9)}"
        revised = f"20{draw.randint(10, 25)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        torque, price = f"{draw.randint(5, 400)} N·m", f"{draw.randint(1, 900)}.{draw.randint(0, 99):02} EUR"
        supplier, stock = draw.choice(SUPPLIERS), str(draw.randint(0, 500))
        rows.append((f"P-{10_000 + number}", name, supplier, torque, stock, price, place, revised))
    return rows


def write_files(folder: Path, rows: Sequence[Sequence[str]]) -> list[Path]:
    """Write the table in both forms."""
    with (folder / "parts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD, *rows])
    with xlsxwriter.Workbook(folder / "parts.xlsx") as book:
        sheet = book.add_worksheet("Parts")
        for place, row in enumerate([HEAD, *rows]):
            sheet.write_row(place, 0, row)
    return [folder / "parts.csv", folder / "parts.xlsx"]


async def read_sizes(services: Services) -> tuple[int, int, int]:
    """Return the number of chunks, their characters, and the bytes of all tables with their indexes."""
    async with services.pool.connection() as connection:
        await connection.execute("VACUUM FULL")
        row = await (await connection.execute(SIZES)).fetchone()
    assert row is not None
    return int(row["chunks"]), int(row["characters"]), int(row["bytes"])


async def measure(path: Path, size: int, embedder: str, divisor: int) -> None:
    """Print what one file takes in an index of its own."""
    chunker._ROWS_DIVISOR = divisor
    async with temporary_services() as services:
        services._embedders["minilm"] = RandomEmbedder()
        _, _, before = await read_sizes(services)
        work = await services.open_ingest(lambda _: None, embedder=embedder)
        summary = await work.run([path], "parts", Sidecar())
        assert not summary.skipped, summary.skipped
        chunks, characters, after = await read_sizes(services)
    index = f"{(after - before) / 1e6:.1f} MB, {(after - before) / chunks / 1000:.1f} kB a chunk"
    print(
        f"{path.suffix:5} {size / 1e6:.2f} MB, {embedder}, chunks of 1/{divisor}: {chunks} chunks of "
        f"{characters / chunks:.0f} characters, index {index}",
        flush=True,
    )


async def main(sizes: Mapping[Path, int]) -> None:
    """Print the figures of the files, with and without vectors, for each size of chunks."""
    for embedder in ("lexical", "minilm"):
        for path, size in sizes.items():
            for divisor in DIVISORS:
                await measure(path, size, embedder, divisor)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), make_rows(parser.parse_args().rows))
        asyncio.run(main({path: path.stat().st_size for path in files}))
