"""Finds the files of an ingest, cheaply: a tree of ten thousand that has not changed is looked through in no time.

A folder is searched for supported formats; what is named itself is taken whatever it is called. Hidden files, sidecars
and linked folders are left alone.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.ingest.loaders.select import SUPPORTED_SUFFIXES
from sourcebound.ingest.loaders.sidecar import SIDECAR_SUFFIX

PATH_MISSING: Final = "PATH_MISSING"
NOTHING_FOUND: Final = "NOTHING_FOUND"


class SourceFile(NamedTuple):
    """A file to ingest and the name it gets."""

    path: Path
    knowledge_id: str
    resolved: str
    """Where it really is: absolute, without links."""


class Skipped(NamedTuple):
    """A file that was not ingested, and why."""

    path: Path
    code: str
    message: str
    next_step: str


class Found(NamedTuple):
    """The result of a search."""

    files: Sequence[SourceFile]
    """Each file once, in a stable order."""
    skipped: Sequence[Skipped]
    """What was named or met but cannot be ingested."""


Traits = tuple[int, int, int, int]
"""What changes when a file does: its inode, its size, and when its content and its inode were last written, in ns."""


def find_files(paths: Sequence[Path]) -> Found:
    """Lists the files to ingest.

    Args:
        paths: Files, and folders that are searched for supported formats.
    """
    files: dict[str, SourceFile] = {}
    skipped: list[Skipped] = []
    for path in paths:
        if path.is_dir():
            for file in _walk(path, "", str(path.resolve()), skipped):
                files.setdefault(file.resolved, file)
        elif path.is_file():
            resolved = str(path.resolve())
            files.setdefault(resolved, SourceFile(path, path.name, resolved))
        else:
            skipped.append(Skipped(path, PATH_MISSING, f"{path} does not exist.", "Check the path."))
    if not files and not skipped:
        suffixes = ", ".join(sorted(SUPPORTED_SUFFIXES))
        skipped.append(Skipped(paths[0], NOTHING_FOUND, "no supported file was found.", f"Supported: {suffixes}."))
    return Found(list(files.values()), skipped)


def unreadable(path: Path, error: OSError) -> Skipped:
    """The file or folder cannot be opened."""
    return Skipped(path, "UNREADABLE", f"{path} cannot be read: {error.strerror}.", "Check its permissions.")


def traits_of(paths: Sequence[Path]) -> Mapping[str, Traits]:
    """Return the traits of every file of an ingest, and of its sidecar; equal traits mean no change.

    A watch uses them to start an ingest. Whether a document has changed is decided by its content.
    """
    found: dict[str, Traits] = {}
    for file in find_files(paths).files:
        for name in (file.resolved, file.resolved + SIDECAR_SUFFIX):
            try:
                status = os.stat(name)
            except OSError:
                continue
            found[name] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def _walk(folder: Path, relative: str, resolved: str, skipped: list[Skipped]) -> Iterator[SourceFile]:
    """The files under a folder, by name.

    Args:
        folder: The folder, as it was named.
        relative: Its path under the folder that the search began with, with a slash at its end; empty for that one.
        resolved: Where it really is.
        skipped: Gets the folders that cannot be read.
    """
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        skipped.append(unreadable(folder, error))
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith(SIDECAR_SUFFIX):
            continue
        path, place = folder / entry.name, os.path.join(resolved, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, f"{relative}{entry.name}/", place, skipped)
        elif os.path.splitext(entry.name)[1].lower() in SUPPORTED_SUFFIXES and entry.is_file():
            place = str(path.resolve()) if entry.is_symlink() else place
            yield SourceFile(path, relative + entry.name, place)
