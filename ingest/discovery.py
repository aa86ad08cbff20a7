"""The search for the files of an ingest. It reads no file, so that a tree of ten thousand files is searched quickly.

A folder is searched for supported formats. A file that the user names is ingested whatever its suffix. Files of other
kinds are counted, and hidden files and folders are one of the kinds. A link is followed only to a file in the same
folder.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from sourcebound.ingest.loaders.select import SUPPORTED_SUFFIXES
from sourcebound.ingest.loaders.sidecar import SIDECAR_SUFFIX

PATH_MISSING: Final = "PATH_MISSING"
NOTHING_FOUND: Final = "NOTHING_FOUND"
LINK_OUTSIDE: Final = "LINK_OUTSIDE"
"""The code of a link that leads out of the folder in which it is."""
HIDDEN: Final = "hidden"
NO_SUFFIX: Final = "without a suffix"
NOT_REGULAR: Final = "no regular file"
UPLOADED: Final = "upload:"
"""The beginning of the source path of an uploaded document, which has no file of its own on this machine."""


class SourceFile(NamedTuple):
    """A file to ingest, and the knowledge id that it gets by default."""

    path: Path
    knowledge_id: str
    resolved: str
    """Its absolute path without symbolic links, or `UPLOADED` and its name."""


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
    """The paths that do not exist or cannot be read, links out of a folder, or one entry if nothing was found."""
    other_kinds: Mapping[str, int] = MappingProxyType({})
    """The number of files that are not ingested, by suffix or kind (IX-1)."""


FileStamp = tuple[int, int, int, int]
"""The values of a file that change with it: inode, size, and the times in ns when content and inode last changed."""


def find_files(paths: Sequence[Path]) -> FoundFiles:
    """List the files to ingest.

    Args:
        paths: Files, and folders to search for supported formats.
    """
    files: dict[str, SourceFile] = {}
    skipped: list[Skipped] = []
    other_kinds: Counter[str] = Counter()
    for path in paths:
        if path.is_dir():
            for file in _FolderSearch(path, skipped, other_kinds).files():
                files.setdefault(file.resolved, file)
        elif path.is_file():
            resolved = str(path.resolve())
            files.setdefault(resolved, SourceFile(path, path.name, resolved))
        else:
            skipped.append(Skipped(path, PATH_MISSING, f"{path} does not exist.", "Check the path."))
    if not files and not skipped:
        suffixes = ", ".join(sorted(SUPPORTED_SUFFIXES))
        skipped.append(Skipped(paths[0], NOTHING_FOUND, "no supported file was found.", f"Supported: {suffixes}."))
    return FoundFiles(list(files.values()), skipped, other_kinds)


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


class _FolderSearch:
    """The search of one folder that the user named.

    Args:
        folder: The folder.
        skipped: Receives links out of the folder, and what cannot be read.
        other_kinds: Counts the files that are not ingested, by kind.
    """

    def __init__(self, folder: Path, skipped: list[Skipped], other_kinds: Counter[str]) -> None:
        self._folder = folder
        self._resolved = folder.resolve()
        self._targets: list[SourceFile] = []
        self._skipped = skipped
        self._other_kinds = other_kinds

    def files(self) -> Iterator[SourceFile]:
        """Yield the files to ingest, ordered by name; then the targets of links, which may be among them."""
        yield from self._walk(self._folder, "", str(self._resolved))
        yield from self._targets

    def _walk(self, folder: Path, relative: str, resolved: str) -> Iterator[SourceFile]:
        """Yield the files under a folder.

        Args:
            folder: The path of the folder as the user gave it.
            relative: Its path below the named folder, with a final slash; empty for the named folder.
            resolved: Its absolute path without symbolic links.
        """
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self._skipped.append(skip_unreadable(folder, error))
            return
        for entry in entries:
            path, resolved_path = folder / entry.name, os.path.join(resolved, entry.name)
            if entry.name.startswith("."):
                self._other_kinds[HIDDEN] += 1
            elif entry.is_symlink():
                self._follow(path, relative + entry.name)
            elif entry.is_dir(follow_symlinks=False):
                yield from self._walk(path, f"{relative}{entry.name}/", resolved_path)
            elif self._is_ingested(entry.name, is_regular=entry.is_file(follow_symlinks=False)):
                yield SourceFile(path, relative + entry.name, resolved_path)

    def _follow(self, path: Path, relative: str) -> None:
        """Note the target of a link to a file within the named folder; report a link that leads out of it (IX-1)."""
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:  # a link to nothing, or to itself
            reason = getattr(error, "strerror", None) or "the link leads to itself"
            self._skipped.append(Skipped(path, "UNREADABLE", f"{path} cannot be read: {reason}.", "Check the link."))
            return
        if not target.is_relative_to(self._resolved):
            message = f"{path} is a link out of {self._folder}."
            self._skipped.append(Skipped(path, LINK_OUTSIDE, message, "Name its target to ingest it."))
        elif not target.is_dir() and self._is_ingested(path.name, is_regular=target.is_file()):
            self._targets.append(SourceFile(path, relative, str(target)))

    def _is_ingested(self, name: str, *, is_regular: bool) -> bool:
        """Whether a file is ingested; count it by its kind if it is not. A sidecar belongs to its document."""
        if name.endswith(SIDECAR_SUFFIX):
            return False
        suffix = os.path.splitext(name)[1].lower()
        if is_regular and suffix in SUPPORTED_SUFFIXES:
            return True
        self._other_kinds[(suffix or NO_SUFFIX) if is_regular else NOT_REGULAR] += 1
        return False
