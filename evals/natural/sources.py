"""The files of the natural questions: named in `corpus.toml`, read from where they are, and copied for one evaluation.

The long descriptions and licences of installed packages are pinned by the lock files, the files of the external data by
digest. A file that is absent or has another version is left out and named.
"""

import gzip
import hashlib
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from sourcebound.ingest.loaders.sidecar import SIDECAR_SUFFIX

FOLDER: Final = Path(__file__).parent
PINNED: Final = re.compile(r"([A-Za-z0-9._-]+)==([^\s;\\]+)")
LICENCE: Final = re.compile(r"licen[cs]e|copying", re.IGNORECASE)
SUFFIXES: Final = {"text/markdown": ".md", "text/x-rst": ".rst"}
PLAIN: Final = ".txt"


class Corpus(BaseModel):
    """The content of `corpus.toml`, which explains each table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    descriptions: tuple[str, ...]
    licences: tuple[str, ...]
    project: tuple[str, ...]
    package_files: Mapping[str, tuple[str, ...]]
    data: Mapping[str, str]


class Elsewhere(BaseModel):
    """The content of `elsewhere.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    packages: tuple[str, ...]
    """Packages of Debian with their versions."""
    files: Mapping[str, str]
    """The place of each file in the folder of the unpacked packages, `PACKAGE/usr/share/…`. A `.gz` is unpacked too."""


class Collected(NamedTuple):
    """The result of a collection."""

    files: tuple[str, ...]
    """The paths of the documents in the folder."""
    absent: tuple[str, ...]
    """The sources that are absent or have another version."""


def read_corpus(path: Path = FOLDER / "corpus.toml") -> Corpus:
    """Read the list of the files."""
    return Corpus.model_validate(tomllib.loads(path.read_text("utf-8")))


def read_elsewhere(path: Path = FOLDER / "elsewhere.toml") -> Elsewhere:
    """Read the list of the pages of Debian's packages."""
    return Elsewhere.model_validate(tomllib.loads(path.read_text("utf-8")))


def collect_unpacked(elsewhere: Elsewhere, folder: Path, unpacked: Path) -> Collected:
    """Copy the pages of unpacked packages into a folder.

    Args:
        elsewhere: The list of the pages.
        folder: An existing folder for the copies.
        unpacked: A folder with one folder for each package, as `dpkg-deb -x` makes it.

    Returns:
        The copies, and what is absent.
    """
    found = {name: path for name, place in elsewhere.files.items() if (path := unpacked / place).is_file()}
    for name, path in found.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    return Collected(tuple(found), tuple(sorted(elsewhere.files.keys() - found.keys())))


def collect_invented(name: str, folder: Path) -> Collected:
    """Copy the invented documents of a set of questions into a folder."""
    shutil.copytree(FOLDER / name, folder, dirs_exist_ok=True)
    return Collected(tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*.md"))), ())


def read_pins(requirements: Path) -> dict[str, set[str]]:
    """Read the versions that the lock files allow, by normalized package name."""
    pins: dict[str, set[str]] = {}
    for lock in sorted(requirements.glob("*.lock")):
        for line in lock.read_text("utf-8").splitlines():
            if match := PINNED.match(line):
                pins.setdefault(re.sub(r"[-_.]+", "-", match[1]).lower(), set()).add(match[2])
    return pins


def collect(corpus: Corpus, folder: Path, root: Path, data: Path) -> Collected:
    """Copy the files of the corpus into a folder.

    Args:
        corpus: The list of the files.
        folder: An existing folder for the copies. Files that are already there are replaced.
        root: The root of the repository, with the lock files.
        data: The folder of the external evaluation data, which may not exist.

    Returns:
        The copies, without sidecars, and what is absent.
    """
    pins = read_pins(root / "requirements")
    absent: list[str] = []
    files: list[str] = []
    for name, content in [*_read_packages(corpus, pins), *_read_project(corpus, root), *_read_data(corpus, data)]:
        if content is None:
            absent.append(name)
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, target)
        else:
            target.write_text(content, "utf-8")
        if not name.endswith(SIDECAR_SUFFIX):
            files.append(name)
    return Collected(tuple(files), tuple(absent))


Source = tuple[str, Path | str | None]
"""The name of a copy and its content: a file, a text, or None if it is absent."""


def _read_packages(corpus: Corpus, pins: Mapping[str, set[str]]) -> Iterator[Source]:
    for name in corpus.descriptions:
        found = _find(name, pins)
        text = found.metadata.get_payload() or found.metadata["Description"] if found else None  # type: ignore[attr-defined]
        yield f"packages/{name}{_suffix(found) if found else PLAIN}", text or None
    for name in corpus.licences:
        found = _find(name, pins)
        yield f"licences/{name}{PLAIN}", _licence(found) if found else None
    for name, paths in corpus.package_files.items():
        found = _find(name, pins)
        for path in paths:
            yield f"files/{path}", _existing(Path(str(found.locate_file(path)))) if found else None


def _find(name: str, pins: Mapping[str, set[str]]) -> Distribution | None:
    """Return an installed package if it has a version of the lock files."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    return found if found.version in pins.get(name, ()) else None


def _suffix(found: Distribution) -> str:
    return SUFFIXES.get((found.metadata["Description-Content-Type"] or "").split(";")[0].strip(), PLAIN)


def _licence(found: Distribution) -> Path | None:
    paths = sorted(str(path) for path in found.files or () if LICENCE.search(path.name) and ".dist-info" in str(path))
    return _existing(Path(str(found.locate_file(paths[0])))) if paths else None


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _read_project(corpus: Corpus, root: Path) -> Iterator[Source]:
    for pattern in corpus.project:
        for path in sorted(root.glob(pattern)):
            yield f"project/{path.relative_to(root)}", path


def _read_data(corpus: Corpus, data: Path) -> Iterator[Source]:
    for name, digest in corpus.data.items():
        path = data / name
        is_pinned = path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
        yield f"data/{name}", path if is_pinned else None
