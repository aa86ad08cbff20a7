"""The search for the files of an ingest. It reads no file, so that a tree of ten thousand files is searched quickly.

A folder is searched for supported formats. A file that the user names is ingested whatever its suffix. Hidden files,
sidecars and linked folders are ignored.
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
    """A file to ingest, and the knowledge id that it gets by default."""

    path: Path
    knowledge_id: str
    resolved: str
    """Its absolute path without symbolic links."""


class Skipped(NamedTuple):
    """A file that was not ingested, and the reason."""

    path: Path
    code: str
    message: str
    next_step: str


class FoundFiles(NamedTuple):
    """The result of a search for files."""

    files: Sequence[SourceFile]
    """Each file once, in a stable order."""
    skipped: Sequence[Skipped]
    """The paths that do not exist or cannot be read, or one entry if nothing was found."""


FileStamp = tuple[int, int, int, int]
"""The values of a file that change with it: inode, size, and the times in ns when content and inode last changed."""


def find_files(paths: Sequence[Path]) -> FoundFiles:
    """List the files to ingest.

    Args:
        paths: Files, and folders to search for supported formats.
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
    return FoundFiles(list(files.values()), skipped)


def skip_unreadable(path: Path, error: OSError) -> Skipped:
    """Return the report of a file or folder that cannot be opened."""
    return Skipped(path, "UNREADABLE", f"{path} cannot be read: {error.strerror}.", "Check its permissions.")


def read_stamps(paths: Sequence[Path]) -> Mapping[str, FileStamp]:
    """Return the stamps of every file of an ingest and of its sidecar. Equal stamps mean that nothing changed.

    A watch uses them to start an ingest. The content of a document decides whether it has changed.
    """
    stamps: dict[str, FileStamp] = {}
    for file in find_files(paths).files:
        for name in (file.resolved, file.resolved + SIDECAR_SUFFIX):
            try:
                status = os.stat(name)
            except OSError:
                continue
            stamps[name] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return stamps


def _walk(folder: Path, relative: str, resolved: str, skipped: list[Skipped]) -> Iterator[SourceFile]:
    """Yield the files under a folder, ordered by name.

    Args:
        folder: The path of the folder as the user gave it.
        relative: Its path below the first folder of the search, with a final slash; empty for the first folder.
        resolved: Its absolute path without symbolic links.
        skipped: Receives the folders that cannot be read.
    """
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        skipped.append(skip_unreadable(folder, error))
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith(SIDECAR_SUFFIX):
            continue
        path, resolved_path = folder / entry.name, os.path.join(resolved, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, f"{relative}{entry.name}/", resolved_path, skipped)
        elif os.path.splitext(entry.name)[1].lower() in SUPPORTED_SUFFIXES and entry.is_file():
            resolved_path = str(path.resolve()) if entry.is_symlink() else resolved_path
            yield SourceFile(path, relative + entry.name, resolved_path)
