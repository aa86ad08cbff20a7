"""Reads a golden set with its documents, and writes the perturbed set with the counterfactual ones."""

from pathlib import Path
from typing import Final

from sourcebound.errors import RequestError
from sourcebound.evals.golden.items import read_items, write_items
from sourcebound.evals.golden.perturb.make import Folders, PerturbedSet, perturb

TEXT_SUFFIXES: Final = frozenset({".md", ".txt", ".csv", ".html"})
"""The formats in which a value can be changed in place."""
SIDECAR: Final = ".meta.toml"


def perturb_file(golden_set: Path, output: Path, seed: int, per_kind: int, folders: Folders) -> PerturbedSet:
    """Perturb a golden set and write the result.

    Args:
        golden_set: The golden set, JSON Lines.
        output: The perturbed set. It is replaced.
        seed: Chooses the items and what happens to them.
        per_kind: The most items of a kind.
        folders: The folders of added documents, relative to the set. That of counterfactual documents is replaced.

    Returns:
        What was written.

    Raises:
        RequestError: The set or a folder cannot be used.
    """
    if output.parent.resolve() != golden_set.parent.resolve():
        raise RequestError(
            "The perturbed set names documents relative to its folder, so it must be next to the golden set.",
            f"Use --output {golden_set.parent / output.name}.",
            code="SET_ELSEWHERE",
        )
    read = read_items(_read(golden_set), golden_set.name)
    if read.findings:
        raise RequestError("; ".join(read.findings), "Mend the golden set.", code="INVALID_SET")
    for folder in (folders.injected, folders.distractors):
        if folder is not None and not (golden_set.parent / folder).is_dir():
            raise RequestError(
                f"{golden_set.parent / folder} is not a folder.",
                "Name a folder of documents next to the set, or leave the option out.",
                code="PATH_MISSING",
            )
    sources = _find_texts(golden_set.parent, {folder for item in read.items for folder in item.documents})
    texts = {name: path.read_text("utf-8") for name, path in sources.items()}
    made = perturb(read.items, seed, per_kind, folders, texts)
    if folders.counterfactual is not None:
        _write_documents(golden_set.parent / folders.counterfactual, made.documents, sources)
    output.write_text(write_items(made.items), "utf-8", newline="\n")
    return made


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise RequestError(
            f"{path} cannot be read ({error}).", "Check the path of --set.", code="PATH_MISSING"
        ) from None


def _find_texts(root: Path, folders: set[str]) -> dict[str, Path]:
    """Return the text documents of the set by file name; a name that two folders share is left out."""
    found: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        for path in sorted((root / folder).glob("*")):
            if path.suffix in TEXT_SUFFIXES:
                found.setdefault(path.name, []).append(path)
    return {name: paths[0] for name, paths in found.items() if len(paths) == 1}


def _write_documents(folder: Path, documents: dict[str, str], sources: dict[str, Path]) -> None:
    """Replace the documents of a folder. Each keeps the sidecar of the document that it was made from."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.is_file():
            old.unlink()
    for name, text in documents.items():
        (folder / name).write_text(text, "utf-8", newline="\n")
        sidecar = sources[name].with_name(name + SIDECAR)
        if sidecar.is_file():
            (folder / sidecar.name).write_bytes(sidecar.read_bytes())
