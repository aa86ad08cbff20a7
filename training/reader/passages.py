"""Cuts the passages of the training questions: `python training/reader/passages.py DATA PACKAGES OUT`.

`DATA` is the folder of the evaluation data, of which the training part of three sets is read. `PACKAGES` has a folder
for each unpacked package of Debian (`packages.txt`). `passages.tsv` names each passage: the first digits of the SHA-256
of its text, the package or the set, the file or the document, the number of the chunk, and whether it is only measured
on. A passage whose text has changed is left out. Texts are not part of this project.
"""

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.errors import SourceboundError
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.loaders.select import parse_document
from sourcebound.models.embedders.minilm import shared_minilm

PASSAGES: Final = Path(__file__).with_name("passages.tsv")
DIGITS: Final = 12
MOST_TOKENS: Final = 206
MOST_BYTES: Final = 50_000_000
DICTIONARY: Final = "dict-"


class Place(NamedTuple):
    """Where a passage comes from."""

    digest: str
    package: str
    file: str
    chunk: str
    use: str
    """`train`, or `measure` for one passage of twenty."""


def read_places() -> list[Place]:
    """Read the names of the passages."""
    return [Place(*line.split("\t")) for line in PASSAGES.read_text("utf-8").splitlines()]


def digest_of(text: str) -> str:
    """Return the name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


@cache
def chunks_of(path: Path) -> list[tuple[str, str]]:
    """Return the title and the text of each chunk of a file, cut as the product cuts."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    name = path.name.removesuffix(".gz")
    is_markup = name.endswith((".page", ".docbook", ".htm")) or re.search(r"\.html\.[a-z]", name)
    try:
        parsed = parse_document(Path(f"{name}.html" if is_markup else name), content, MOST_BYTES)
    except SourceboundError:
        return []
    chunks = chunk_document(parsed, "x", shared_minilm(), MOST_TOKENS)
    return [(parsed.metadata.title or name, chunk.text) for chunk in chunks]


@cache
def entries_of(path: Path) -> list[tuple[str, str]]:
    """Return the head word and the text of each entry of a dictionary."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    entries = []
    for entry in re.split(r"\n(?=\S)", text):
        head, _, body = re.sub(r"[{}]", "", re.sub(r"\n +", "\n", entry).strip()).partition("\n")
        paragraphs = (re.sub(r"\s*\n\s*", " ", part) for part in body.split("\n\n"))
        entries.append((head, "\n\n".join([head, *paragraphs])))
    return entries


@cache
def evidence_of(data: Path) -> dict[str, str]:
    """Return the texts of the labelled statements."""
    with (data / "support" / "evidence.jsonl").open("rb") as file:
        return {row["id"]: "\n\n".join(row["texts"]) for row in map(json.loads, file)}


def read_passage(place: Place, data: Path, packages: Path) -> tuple[str, str] | None:
    """Return the title and the text of a passage; None if it is not there or has changed."""
    if (packages / place.package).is_dir():
        path = packages / place.file
        if not path.is_file():
            return None
        found = entries_of(path) if place.package.startswith(DICTIONARY) else chunks_of(path)
        number = int(place.chunk)
    else:
        evidence, _, last = place.chunk.rpartition(":")
        if evidence not in evidence_of(data):
            return None
        title = "Abstract" if place.package == "scifact" else place.file.split(":")[-1]
        parsed = parse_document(Path("a.txt"), evidence_of(data)[evidence].encode(), MOST_BYTES)
        found = [(title, chunk.text) for chunk in chunk_document(parsed, "x", shared_minilm(), MOST_TOKENS)]
        number = int(last)
    passage = found[number] if number < len(found) else None
    return passage if passage and digest_of(passage[1]) == place.digest else None


def rows(data: Path, packages: Path) -> Iterator[dict[str, object]]:
    """Yield the passages, each with the places of its sentences that may be quoted."""
    for place in read_places():
        passage = read_passage(place, data, packages)
        if passage is None:
            continue
        title, text = passage
        sentences = [each for each in read_evidence([EvidencePart("C0", title, text)]) if each.is_quotable]
        yield {
            "digest": place.digest,
            "package": place.package,
            "held": place.use == "measure",
            "title": title,
            "text": text,
            "sentences": [(each.start, each.end) for each in sentences],
        }


def main() -> None:
    """Write the passages."""
    found = list(rows(Path(sys.argv[1]), Path(sys.argv[2])))
    Path(sys.argv[3]).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found), "utf-8")
    print(len(found), "of", len(read_places()), "passages")


if __name__ == "__main__":
    main()
