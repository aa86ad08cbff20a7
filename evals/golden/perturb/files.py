"""Reads a golden set with its documents, and writes the perturbed set with the counterfactual ones."""

from pathlib import Path
from typing import Final

from sourcebound.errors import RequestError
from sourcebound.evals.golden.corpus import read_set
from sourcebound.evals.golden.items import GoldenItem, check_path, read_items, write_items
from sourcebound.evals.golden.perturb.make import Folders, Perturbed, PerturbedSet, perturb
from sourcebound.ingest.loaders.sidecar import SIDECAR_SUFFIX

TEXT_SUFFIXES: Final = frozenset({".md", ".txt", ".csv", ".html"})
"""The formats in which a value can be changed in place."""


def perturb_file(golden_set: Path, output: Path, seed: int, per_kind: int, folders: Folders) -> PerturbedSet:
    """Perturb a golden set and write the result. Everything is checked before a file is written.

    Args:
        golden_set: The golden set, JSON Lines.
        output: The perturbed set. An earlier one is replaced, and no other file.
        seed: Chooses the items and what happens to them.
        per_kind: The most items of a kind.
        folders: The folders of added documents, relative to the set and inside its folder. In that of counterfactual
            documents, those that the earlier perturbed set made are replaced.

    Returns:
        What was written.

    Raises:
        RequestError: The set or a folder cannot be used, or a file of something else would be replaced.
    """
    root = golden_set.parent
    if output.parent.resolve() != root.resolve():
        raise RequestError(
            "The perturbed set names documents relative to its folder, so it must be next to the golden set.",
            f"Use --output {root / output.name}.",
            code="SET_ELSEWHERE",
        )
    for option, folder in folders._asdict().items():
        _check_folder(root, option, folder)
    items = read_set(golden_set).items
    earlier = _read_earlier(golden_set, output)
    old = (
        _find_documents(root / folders.counterfactual, folders.counterfactual, earlier)
        if folders.counterfactual
        else []
    )
    sources = _find_texts(root, {folder for item in items for folder in item.documents})
    made = perturb(items, seed, per_kind, folders, {name: text for name, (_, text) in sources.items()})
    if folders.counterfactual:
        for path in old:
            path.unlink()
        _write_documents(root / folders.counterfactual, made.documents, sources)
    output.write_text(write_items(made.items), "utf-8", newline="\n")
    return made


def _check_folder(root: Path, option: str, folder: str | None) -> None:
    if folder is None:
        return
    try:
        check_path(folder)
    except ValueError as error:
        raise RequestError(
            f"--{option} {folder!r}: {error}.", "Name a folder inside that of the set.", code="PATH_OUTSIDE"
        ) from error
    if option != "counterfactual" and not (root / folder).is_dir():
        raise RequestError(
            f"{root / folder} is not a folder.",
            "Name a folder of documents next to the set, or leave the option out.",
            code="PATH_MISSING",
        )


def _read_earlier(golden_set: Path, output: Path) -> tuple[GoldenItem, ...]:
    """Return the items of the perturbed set that is replaced; none if there is none."""
    if not output.exists():
        return ()
    try:
        text = output.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        text = "unreadable"
    read = read_items(text, output.name)
    is_perturbed = not text or (not read.findings and all(item.perturbation for item in read.items))
    if output.samefile(golden_set) or not is_perturbed:
        raise RequestError(
            f"{output} exists and is not an earlier perturbed set.",
            "Name another file with --output, or remove it.",
            code="FILE_EXISTS",
        )
    return read.items


def _find_documents(folder: Path, name: str, earlier: tuple[GoldenItem, ...]) -> list[Path]:
    """Return the files of the folder of counterfactual documents, if the earlier perturbed set made each of them."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise RequestError(f"{folder} is not a folder.", "Name another with --counterfactual.", code="NOT_A_FOLDER")
    made = {
        place.document
        for item in earlier
        if item.perturbation and item.perturbation.kind == Perturbed.COUNTERFACTUAL and item.documents == (name,)
        for group in item.citations
        for place in group
    }
    found = sorted(folder.iterdir())
    others = [path.name for path in found if path.name.removesuffix(SIDECAR_SUFFIX) not in made or not path.is_file()]
    if others:
        raise RequestError(
            f"{folder} holds {others[0]}, which the earlier perturbed set did not make.",
            "Name a new or an empty folder with --counterfactual.",
            code="FOLDER_NOT_EMPTY",
        )
    return found


def _find_texts(root: Path, folders: set[str]) -> dict[str, tuple[Path, str]]:
    """Return the UTF-8 documents of the set by file name; a name that two folders share is left out."""
    found: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        for path in sorted((root / folder).glob("*")):
            if path.suffix in TEXT_SUFFIXES:
                found.setdefault(path.name, []).append(path)
    texts = {}
    for name, paths in found.items():
        try:
            if len(paths) == 1:
                texts[name] = paths[0], paths[0].read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return texts


def _write_documents(folder: Path, documents: dict[str, str], sources: dict[str, tuple[Path, str]]) -> None:
    """Write documents into a folder. Each keeps the sidecar of the document that it was made from."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        (folder / name).write_text(text, "utf-8", newline="\n")
        sidecar = sources[name][0].with_name(name + SIDECAR_SUFFIX)
        if sidecar.is_file():
            (folder / sidecar.name).write_bytes(sidecar.read_bytes())
