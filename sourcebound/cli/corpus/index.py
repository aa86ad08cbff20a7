"""`sourcebound index`: the vector index of a collection, and the promotion of a new version.

A new version of a collection is a separate collection: ingest it, compare it with the current one, promote it.
"""

import json
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from sourcebound.cli.console import FAILED, run_async, say
from sourcebound.cli.corpus.calibrate import ask_all, read_labelled_questions
from sourcebound.cli.corpus.contents import check_contents
from sourcebound.errors import ConfigurationError, RequestError, StoreError

if TYPE_CHECKING:
    from sourcebound.contracts.calibration.gate_minima import Share
    from sourcebound.contracts.calibration.labelled_questions import LabelledQuestion
    from sourcebound.contracts.corpus.collection import Collection
    from sourcebound.contracts.corpus.vector_index import Recall
    from sourcebound.wiring import Services

SHOWN = 5
Result = TypeVar("Result")
app = typer.Typer(help="Check and build vector indexes; compare and promote collections.", no_args_is_help=True)


class GateComparison(NamedTuple):
    """The result of the gate for one collection, under its policy, on a file of questions."""

    collection: "Collection"
    policy: str
    refused: "Share"
    """The refused share of the answerable questions."""
    passed: "Share"
    """The passed share of the other questions."""


@app.command()
def build(
    collection: Annotated[str | None, typer.Option(help="The collection. Default: SOURCEBOUND_COLLECTION.")] = None,
) -> None:
    """Build a new vector index while the current one is in use, then replace it.

    `sourcebound ingest` does this when a collection is too large for exact search.
    """
    from sourcebound.contracts.corpus.vector_index import MIN_RECALL

    async def work(services: "Services", found: "Collection") -> "Collection":
        _require_vectors(found)
        await services.index.vectors.build(found)
        return await services.index.open_collection(found.name)

    built = _with_collection(collection, work)
    print(describe(built))
    if built.vector_index and not built.vector_index.is_fit:
        say(f"  {MIN_RECALL:.0%} is the minimum, so the index is not used: all vectors are compared.")
        raise typer.Exit(FAILED)


@app.command()
def check(
    collection: Annotated[str | None, typer.Option(help="The collection. Default: SOURCEBOUND_COLLECTION.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="The number of sampled vectors.")] = 200,
    contents: Annotated[
        bool, typer.Option("--contents", help="Check what is stored instead: every document, chunk, word and vector.")
    ] = False,
    vectors: Annotated[
        int, typer.Option(min=0, help="With --contents: embed so many chunks again and compare their vectors.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the result, as JSON.")] = False,
) -> None:
    """Measure the recall of the vector index against exact search. Exit code 4 if it is too low.

    With --contents, check instead that each chunk is the slice of its page that it says, that documents, chunks and
    index version match their digests, and that search words, postings and vectors agree with the text. Exit code 1 if
    something was altered; everything that was is named.
    """
    from sourcebound.contracts.corpus.vector_index import MIN_RECALL, NEIGHBOURS

    if vectors and not contents:
        raise RequestError("--vectors is a part of the check of contents.", "Add --contents.")
    if contents:
        report = _with_collection(collection, partial(check_contents, vectors=vectors, shown=not as_json))
        report.print(as_json=as_json)
        return

    async def work(services: "Services", found: "Collection") -> "tuple[Collection, Recall | None]":
        _require_vectors(found)
        if found.vector_index is None:
            await _require_all_vectors(services, found)
            return found, None
        return found, await services.index.vectors.measure(found, found.vector_index.ef_search, sample)

    checked, recall = _with_collection(collection, work)
    value = 1.0 if recall is None else recall.value
    if as_json:
        fields = {"collection": checked.name, "chunks": checked.chunks, "exact": recall is None, "recall": value}
        print(json.dumps({**fields, **(recall._asdict() if recall else {})}, indent=2))
    elif recall is None:
        print(f"{checked.name}: all {checked.chunks} vectors are compared, so nothing is missed.")
    else:
        print(
            f"{checked.name}: {recall.found} of the {recall.sought} nearest chunks found ({value:.2%}), "
            f"{NEIGHBOURS} for each of {min(sample, checked.chunks)} vectors, search width {recall.ef_search}."
        )
    if value < MIN_RECALL:
        say(f"  {MIN_RECALL:.0%} is the minimum. Next: sourcebound index build --collection {checked.name}")
        raise typer.Exit(FAILED)


@app.command()
def compare(
    candidate: Annotated[str, typer.Argument(help="The collection that may be promoted.")],
    questions: Annotated[Path, typer.Option(help='JSON Lines: {"question": "…", "answerable": true}.')],
    collection: Annotated[
        str | None, typer.Option(help="The current collection. Default: SOURCEBOUND_COLLECTION.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the result, as JSON.")] = False,
) -> None:
    """Ask two collections the same questions and compare the results of the gate. No model is called."""
    labelled = read_labelled_questions(questions)

    async def work(services: "Services", found: "Collection") -> list[GateComparison]:
        other = await services.index.open_collection(candidate)
        return [await _judge(services, each, labelled) for each in (found, other)]

    verdicts = _with_collection(collection, work)
    if as_json:
        print(json.dumps([_as_json(verdict) for verdict in verdicts], indent=2))
        return
    for verdict in verdicts:
        refused, passed = verdict.refused, verdict.passed
        print(
            f"{verdict.collection.name} ({verdict.collection.index_version}, {verdict.policy}): "
            f"answerable refused {refused.part} of {refused.whole}, others passed {passed.part} of {passed.whole}"
        )


@app.command()
def promote(
    candidate: Annotated[str, typer.Argument(help="The collection to promote.")],
    collection: Annotated[
        str | None, typer.Option(help="The collection to replace. Default: SOURCEBOUND_COLLECTION.")
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Promote a collection that lacks documents of the current one.")
    ] = False,
    comparisons: Annotated[
        list[Path] | None,
        typer.Option("--comparison", help="A file of `eval compare` on the two collections. Repeatable."),
    ] = None,
) -> None:
    """Replace a collection by another in one step. The old one stays under its name and index version.

    It needs a comparison of the two in an evaluation, unless the candidate is an earlier version of the collection.
    Recorded runs keep the index version that they searched.
    """
    from sourcebound.evals.golden.comparison import check_index_change, read_comparison

    compared = [read_comparison(file) for file in comparisons or []]

    async def work(services: "Services", found: "Collection") -> tuple[str, "Collection"]:
        new = await services.index.open_collection(candidate)
        if new.collection_id == found.collection_id:
            raise RequestError(f"{candidate!r} is already the current collection.", "Name another collection.")
        missing = await services.index.missing_documents(found, new)
        if missing and not allow_missing:
            shown = ", ".join(missing[:SHOWN]) + (f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else "")
            raise ConfigurationError(
                f"{len(missing)} documents of {found.name!r} are not in {candidate!r}: {shown}.",
                f"Ingest them into {candidate!r}, or repeat with --allow-missing.",
                code="INDEX_INCOMPLETE",
            )
        if not new.name.startswith(f"{found.name}@") and new.index_version != found.index_version:
            check_index_change(found.index_version, new.index_version, compared)
        return await services.index.promote(candidate, found.name), new

    old_name, promoted = _with_collection(collection, work)
    name = old_name.rpartition("@")[0]
    print(f"{name} is now {promoted.index_version} ({promoted.documents} documents, {promoted.embedding_model})")
    print(f"The previous collection is now {old_name}.")
    say(f"  To go back: sourcebound index promote {old_name} --collection {name}")


@app.command()
def drop(
    collection: Annotated[str, typer.Argument(help="The collection to remove.")],
    yes: Annotated[bool, typer.Option("--yes", help="Confirm. Nothing is removed without it.")] = False,
) -> None:
    """Remove a collection with all its documents. The records of its runs stay."""

    async def work(services: "Services", found: "Collection") -> "Collection":
        if yes:
            await services.index.drop_collection(found)
        return found

    found = _with_collection(collection, work)
    summary = f"{found.name} ({found.documents} documents, {found.chunks} chunks)"
    if not yes:
        raise RequestError(f"this would remove {summary}. Nothing was removed.", "To confirm, add --yes.")
    print(f"removed {summary}")


def describe(collection: "Collection") -> str:
    """Describe how the vectors of a collection are searched."""
    index = collection.vector_index
    if index is None:
        return f"{collection.name}: all {collection.chunks} vectors are compared"
    return f"{collection.name}: vector index, search width {index.ef_search}, measured recall {index.recall:.2%}"


def _with_collection(name: str | None, work: "Callable[[Services, Collection], Coroutine[Any, Any, Result]]") -> Result:
    async def run() -> Result:
        from sourcebound.settings import get_settings
        from sourcebound.wiring import open_services

        settings = get_settings()
        async with open_services(settings, as_owner=True) as services:
            return await work(services, await services.index.open_collection(name or settings.collection))

    return run_async(run)


def _require_vectors(collection: "Collection") -> None:
    if not collection.dimensions:
        raise ConfigurationError(
            f"the collection {collection.name!r} has no vectors: it is searched by its words only.",
            "An index can be built and checked only for a collection with vectors.",
            code="NO_VECTORS",
        )


async def _require_all_vectors(services: "Services", collection: "Collection") -> None:
    stored = await services.index.count_vectors(collection.collection_id)
    if stored != collection.chunks:
        raise StoreError(
            f"the collection {collection.name!r} should have {collection.chunks} vectors, and has {stored}.",
            f"Run `sourcebound index check --contents --collection {collection.name}`.",
            code="INDEX_DAMAGED",
        )


async def _judge(
    services: "Services", collection: "Collection", labelled: "tuple[LabelledQuestion, ...]"
) -> GateComparison:
    from sourcebound.contracts.calibration.gate_minima import refused
    from sourcebound.wiring import find_policy

    settings = services.settings
    policy = find_policy(settings.policy, embedding_model=collection.embedding_model, folder=settings.policies)
    signals = await ask_all(services, labelled, collection, policy)
    minima = policy.retrieval.min_top_similarity, policy.retrieval.min_question_coverage or 0.0
    groups = [
        [measured for question, measured in zip(labelled, signals, strict=True) if question.answerable is answerable]
        for answerable in (True, False)
    ]
    answerable, others = (refused(group, *minima) for group in groups)
    return GateComparison(collection, policy.policy_version, answerable, others.rest)


def _as_json(verdict: GateComparison) -> dict[str, object]:
    from sourcebound.cli.corpus.calibrate import share_json

    return {
        "collection": verdict.collection.name,
        "index_version": verdict.collection.index_version,
        "policy": verdict.policy,
        "false_refusals": share_json(verdict.refused),
        "false_passes": share_json(verdict.passed),
    }
