"""The parts of an external evaluation: each set of a folder with its measurement."""

from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModel, Embedder
from sourcebound.errors import SourceboundError
from sourcebound.evals.broad import SIZES
from sourcebound.evals.external import checking, counting
from sourcebound.evals.external.asking import EMBEDDER, ask_collection
from sourcebound.evals.external.injecting import measure_injection, read_injected
from sourcebound.evals.external.natural import PROJECT, NaturalSet, ask_natural, count_natural, found_set, project_set
from sourcebound.evals.external.progress import Result
from sourcebound.evals.external.report import LeftOut, Section
from sourcebound.evals.external.sets.collections import Collection
from sourcebound.evals.external.sets.discovery import FoundSet, find_sets
from sourcebound.evals.external.sets.mixing import mix_collections
from sourcebound.evals.external.sets.reading import COLLECTION_READERS, read_collections, read_off_topic
from sourcebound.evals.external.sets.records import Reader
from sourcebound.evals.external.vectors import RememberedVectors
from sourcebound.evals.retrieval import temporary_services
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from sourcebound.wiring import Services

Part = TypeVar("Part")
MODEL: Final = "extractive"
DATA_FAULTS: Final = (OSError, ValueError, LookupError, SourceboundError)
"""The errors that the data of other people cause."""
COUNTS: Final = {
    Section.RANKING: counting.count_ranking,
    Section.EVIDENCE: counting.count_evidence,
    Section.GATES: counting.count_refusals,
    Section.ANSWERS: counting.count_answers,
}
"""The sections that one pass over the questions of a collection measures."""
ANSWERING: Final = frozenset({Section.GATES, Section.ANSWERS})
"""Those of them that need a generator."""
INJECTING: Final = ("triggered", "attacked")
SECTION_OF_SHAPE: Final = {
    **dict.fromkeys(COLLECTION_READERS, Section.ANSWERS),
    **{shape: section for shape, (section, _) in checking.CHECKS.items()},
    **dict.fromkeys(INJECTING, Section.INJECTION),
    "judged": Section.RANKING,
    "offtopic": Section.GATES,
    "natural": Section.NATURAL,
}
"""The section that a set of each shape is first of all for."""


class Unit(NamedTuple):
    """A part of the evaluation that is measured at once."""

    name: str
    section: Section
    measure: Callable[[], Awaitable[Result]]


class Tools:
    """The database and the generator, which are opened when a set needs them.

    Args:
        stack: Closes them.
        policy: The policy.
    """

    def __init__(self, stack: AsyncExitStack, policy: Policy) -> None:
        self.policy = policy
        self._stack = stack
        self._services: Services | None = None
        self._model: AnswerModel | None = None
        self._embedder: Embedder | None = None

    async def services(self) -> Services:
        """Return services over a temporary database."""
        if self._services is None:
            self._services = await self._stack.enter_async_context(temporary_services())
        return self._services

    async def embedder(self) -> Embedder:
        """Return the embedder of every collection."""
        if self._embedder is None:
            embedder = await (await self.services()).open_embedder(EMBEDDER)
            assert embedder is not None  # it has weights
            self._embedder = RememberedVectors(embedder)
        return self._embedder

    async def model(self) -> AnswerModel:
        """Return the built-in generator."""
        if self._model is None:
            models = Models(Settings())
            self._stack.push_async_callback(models.close)
            self._model = await models.open(MODEL)
        return self._model


class Plan:
    """Finds the sets of a folder, and how each is measured.

    Args:
        data: The folder.
        sections: The sections to measure.
        most: The most questions of a set and kind; None for all.
        tools: The database and the generator.
    """

    def __init__(self, data: Path, sections: frozenset[Section], most: int | None, tools: Tools) -> None:
        self._data, self._sections, self._most, self._tools = data, sections, most, tools
        self._reader = Reader(data)
        self._found = find_sets(data)
        self.left_out: list[LeftOut] = [
            LeftOut(section=SECTION_OF_SHAPE[each.name], set=each.name, reason=f"no {each.content}", is_absent=True)
            for each in self._found.absent
            if self._wants(each.name)
        ]
        """The sets that cannot be measured, and why."""
        self.left_out += [
            LeftOut(section=None, set=each.name, reason=each.reason, is_absent=False) for each in self._found.unknown
        ]

    def _wants(self, shape: str) -> bool:
        is_asked = shape in COLLECTION_READERS or shape == "offtopic"
        return bool(self._sections & set(COUNTS)) if is_asked else SECTION_OF_SHAPE[shape] in self._sections

    def units(self) -> Iterator[Unit]:
        """Yield every part of the chosen sections. `left_out` is complete when this ends."""
        yield from self._collections()
        for found in self._found.sets:
            section = SECTION_OF_SHAPE[found.shape]
            if found.shape in checking.CHECKS and section in self._sections:
                yield Unit(found.name, section, partial(self._check, found))
            elif found.shape in INJECTING and section in self._sections:
                yield Unit(found.name, section, partial(self._inject, found))
            elif found.shape == "natural" and section in self._sections:
                yield self._natural(found.name, partial(found_set, found, self._reader))
        if Section.NATURAL in self._sections:
            yield self._natural(PROJECT, partial(project_set, self._data))

    def _collections(self) -> Iterator[Unit]:
        """Yield the collections that are asked: each set, then the broad ones."""
        if not self._sections & set(COUNTS):
            return
        collections = self._read(COLLECTION_READERS, read_collections)
        off_topic = self._read(("offtopic",), read_off_topic)
        for each in collections:
            is_asked = any(question.is_asked for question in each.questions)
            asked = each._replace(questions=(*each.questions, *(off_topic if is_asked else ())))
            yield self._asked(asked, self._sections)
        if Section.GATES in self._sections:
            texts = self._read(("statements",), checking.read_texts)
            mixed = mix_collections(collections, off_topic, texts)
            yield from (self._asked(each, frozenset({Section.GATES})) for each in mixed)
            if len(mixed) < 2 * len(SIZES):
                reason = f"{len(mixed)} of {2 * len(SIZES)} could be mixed: there are not enough texts"
                self.left_out.append(
                    LeftOut(section=Section.GATES, set="broad collections", reason=reason, is_absent=True)
                )

    def _read(self, shapes: Container[str], read: Callable[[FoundSet, Reader], Sequence[Part]]) -> list[Part]:
        """Read the sets of some shapes. A set that cannot be read is left out."""
        parts: list[Part] = []
        for found in self._found.sets:
            if found.shape in shapes:
                try:
                    parts += read(found, self._reader)
                except DATA_FAULTS as error:
                    self.left_out.append(leave_out(SECTION_OF_SHAPE[found.shape], found.name, error, self._data))
        return parts

    def _asked(self, collection: Collection, sections: frozenset[Section]) -> Unit:
        limited = collection.limited(self._most)
        asked = any(question.is_asked for question in limited.questions)
        section = Section.ANSWERS if asked else Section.RANKING
        return Unit(limited.name, section, partial(self._ask, limited, sections))

    async def _ask(self, collection: Collection, sections: frozenset[Section]) -> Result:
        needs_model = bool(sections & ANSWERING) and any(each.is_asked for each in collection.questions)
        model = await self._tools.model() if needs_model else None
        services, embedder = await self._tools.services(), await self._tools.embedder()
        answered = await ask_collection(services, collection, embedder, self._tools.policy, model)
        figures = [
            figure
            for section, count in COUNTS.items()
            if section in sections
            for figure in count(collection.name, answered)
        ]
        return Result(unit=collection.name, questions=len(answered), figures=tuple(figures))

    async def _check(self, found: FoundSet) -> Result:
        _, measure = checking.CHECKS[found.shape]
        return Result(unit=found.name, figures=tuple(measure(found, self._reader, self._most)))

    async def _inject(self, found: FoundSet) -> Result:
        items = read_injected(found, self._reader)[: self._most]
        figures = await measure_injection(found.name, items, await self._tools.model(), self._tools.policy)
        return Result(unit=found.name, questions=len(items), figures=tuple(figures))

    def _natural(self, name: str, opened: Callable[[], AbstractContextManager[NaturalSet]]) -> Unit:
        async def measure() -> Result:
            with opened() as natural:
                judged = await ask_natural(natural, self._most)
            return Result(unit=name, questions=len(judged), figures=tuple(count_natural(name, judged)))

        return Unit(name, Section.NATURAL, measure)


def leave_out(section: Section, name: str, error: Exception, data: Path) -> LeftOut:
    """Return why a set was left out.

    Args:
        section: The section that it is for.
        name: The set.
        error: One of `DATA_FAULTS`.
        data: The folder of the data.
    """
    if isinstance(error, FileNotFoundError) and error.filename:
        file = Path(error.filename)
        name_of_file = file.relative_to(data) if file.is_relative_to(data) else file.name
        return LeftOut(section=section, set=name, reason=f"{name_of_file} does not exist", is_absent=True)
    reason = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)
    return LeftOut(section=section, set=name, reason=reason, is_absent=False)
