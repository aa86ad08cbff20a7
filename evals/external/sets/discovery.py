"""Finds the sets of a folder by the fields of their records. No name of a file or folder is assumed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from sourcebound.evals.external.sets import records
from sourcebound.evals.external.sets.records import Record, sniff_fields

RECORDS: Final = "*.jsonl"


class Role(NamedTuple):
    """A file of a set."""

    model: type[Record]
    forbidden: frozenset[str] = frozenset()
    """The fields that no record of the file has."""

    def fits(self, found: Sequence[frozenset[str]]) -> bool:
        """Whether a record of a file has the fields of the role."""
        return any(self.model.required() <= each and not self.forbidden & each for each in found)


class Shape(NamedTuple):
    """A kind of set: its files, and what else its folder must hold."""

    name: str
    content: str
    """The content in words, for the list of what a folder has not."""
    roles: Mapping[str, Role]
    further: str = ""
    """A pattern for files that the folder must hold next to the records."""


class FoundSet(NamedTuple):
    """A set in a folder."""

    shape: str
    name: str
    folder: Path
    files: Mapping[str, Path]
    """The file of each role."""


class Unknown(NamedTuple):
    """A folder whose records have no known shape."""

    name: str
    reason: str


class Found(NamedTuple):
    """The content of a folder of data."""

    sets: tuple[FoundSet, ...]
    unknown: tuple[Unknown, ...]
    absent: tuple[Shape, ...]


def _one(model: type[Record], *forbidden: str) -> Mapping[str, Role]:
    return MappingProxyType({"items": Role(model, frozenset(forbidden))})


PASSAGES: Final = Role(records.Passage)
SHAPES: Final = (
    Shape(
        "paragraphs",
        "paragraphs, and questions that say whether their paragraph answers them",
        {"documents": PASSAGES, "questions": Role(records.ParagraphQuestion)},
    ),
    Shape(
        "abstracts",
        "documents, and for each a question with a decision and a long answer",
        {"documents": PASSAGES, "questions": Role(records.AbstractQuestion)},
    ),
    Shape(
        "judged",
        "a corpus, its queries, and qrels.tsv",
        {"documents": PASSAGES, "questions": Role(records.Query, frozenset({"title"}))},
        "*.tsv",
    ),
    Shape(
        "papers",
        "long documents, and questions with an exact answer",
        {"documents": Role(records.Paper), "questions": Role(records.PaperQuestion)},
    ),
    Shape(
        "pages",
        "files with pages, and questions whose evidence is pages",
        {"documents": Role(records.PagedFile), "questions": Role(records.PageQuestion)},
    ),
    Shape("characters", "texts, and questions whose evidence is characters", _one(records.CharacterQuestion), "*.md"),
    Shape("excerpts", "questions, each with the paragraph that answers it", _one(records.Excerpt)),
    Shape("contexts", "questions with right, changed and useless texts", _one(records.Contexts)),
    Shape("forms", "filled forms with their fields", _one(records.Form)),
    Shape("natural", "natural questions about files next to them", _one(records.NaturalQuestion)),
    Shape(
        "responses",
        "judged responses to passages",
        {"sources": Role(records.Source), "responses": Role(records.Response)},
    ),
    Shape(
        "statements",
        "labelled statements and answers, with their evidence",
        {
            "evidence": Role(records.Texts),
            "statements": Role(records.Statement),
            "answers": Role(records.LabelledAnswer),
        },
    ),
    Shape(
        "honest",
        "labelled replies, with their evidence",
        {"evidence": Role(records.HonestEvidence), "replies": Role(records.HonestReply)},
    ),
    Shape("summaries", "judged summaries", _one(records.Summary)),
    Shape("attributed", "judged claims with references", _one(records.AttributedClaim)),
    Shape("claims", "claims that a sentence supports or refutes", _one(records.EvidenceClaim)),
    Shape("triggered", "documents with an instruction, and its trigger", _one(records.TriggeredDocument)),
    Shape("attacked", "documents with an instruction", _one(records.AttackedDocument, "trigger")),
    Shape("segmentation", "texts with their sentences", _one(records.Rule)),
    Shape("ingestion", "awkward files with the expected result", _one(records.AwkwardFile)),
    Shape(
        "offtopic",
        "questions that no document answers",
        _one(records.OtherQuestion, "paragraph_id", "document_id", "paragraph", "context", "evidence"),
    ),
)
"""The shapes, those of several files first. A file belongs to the first shape that it fits."""


def find_sets(data: Path) -> Found:
    """Find every set below a folder.

    Args:
        data: The folder.
    """
    found: list[tuple[Shape, Path, Mapping[str, Path], bool]] = []
    unknown: list[Unknown] = []
    for folder in sorted({path.parent for path in data.rglob(RECORDS)}):
        fields = {path: sniff_fields(path) for path in sorted(folder.glob(RECORDS))}
        sets = list(_match(folder, fields))
        found += [(shape, folder, files, is_one) for shape, files, is_one in sets]
        if not sets:
            unknown.append(Unknown(folder.relative_to(data).as_posix(), _nearest(fields)))
    names = Counter(folder.name for folder in {folder for _, folder, _, _ in found})
    named = [
        FoundSet(shape.name, _name(data, folder, files, names, is_one=is_one), folder, files)
        for shape, folder, files, is_one in found
    ]
    present = {each.shape for each in named}
    return Found(tuple(named), tuple(unknown), tuple(shape for shape in SHAPES if shape.name not in present))


def _match(
    folder: Path, fields: Mapping[Path, Sequence[frozenset[str]]]
) -> Iterator[tuple[Shape, Mapping[str, Path], bool]]:
    """Yield the shapes that the files of a folder fit, their files, and whether it is the only set of its shape."""
    left = dict(fields)
    for shape in SHAPES:
        if shape.further and not any(folder.glob(shape.further)):
            continue
        if len(shape.roles) == 1:
            ((role, wanted),) = shape.roles.items()
            fitting = [path for path, found in left.items() if wanted.fits(found)]
            for path in fitting:
                del left[path]
                yield shape, {role: path}, len(fitting) == 1
        elif files := _assign(shape, left):
            left = {path: found for path, found in left.items() if path not in files.values()}
            yield shape, files, True


def _assign(shape: Shape, fields: Mapping[Path, Sequence[frozenset[str]]]) -> Mapping[str, Path]:
    """Return a different file for each role; empty if a role has none."""
    chosen: dict[str, Path] = {}
    for name, role in shape.roles.items():
        path = next((path for path, found in fields.items() if role.fits(found) and path not in chosen.values()), None)
        if path is None:
            return {}
        chosen[name] = path
    return chosen


def _name(data: Path, folder: Path, files: Mapping[str, Path], names: Counter[str], *, is_one: bool) -> str:
    """Return the name of a set: that of its folder, with what tells it apart from others of the same name."""
    name = folder.name if names[folder.name] == 1 and folder != data else folder.relative_to(data).as_posix()
    return name if is_one else f"{name}/{next(iter(files.values())).stem}"


def _nearest(fields: Mapping[Path, Sequence[frozenset[str]]]) -> str:
    """Return which fields a file lacks for the shape that it is nearest to."""
    seen = {path: frozenset[str]().union(*found) for path, found in fields.items()}
    best: tuple[float, str] = (0.0, "no line is a JSON object")
    for shape in SHAPES:
        for role in shape.roles.values():
            for path, names in seen.items():
                wanted = role.model.required()
                share = len(wanted & names) / len(wanted)
                missing = ", ".join(sorted(wanted - names)) or "the other files of the set"
                best = max(best, (share, f"{path.name} is nearest to {shape.content}, and lacks {missing}"), key=_first)
    return best[1]


def _first(value: tuple[float, str]) -> float:
    return value[0]
