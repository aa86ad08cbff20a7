"""`sourcebound documents`: the list of the documents of a collection, their labels and their removal."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import run_async, say
from sourcebound.cli.options import read_label_options
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.corpus.collection import Collection, DocumentSummary
    from sourcebound.wiring import Services

app = typer.Typer(help="List the documents of a collection, label some, and remove some.", no_args_is_help=True)
MAX_SUGGESTIONS = 3
MIN_LIKENESS = 0.6
"""The share of two ids that must agree for one to be suggested as the correction of the other."""

CollectionOption = Annotated[str | None, typer.Option(help="The collection. Default: SOURCEBOUND_COLLECTION.")]

KnowledgeIds = Annotated[
    list[str], typer.Argument(metavar="KNOWLEDGE_ID…", help="Knowledge ids from `documents list`.")
]


@app.command("list")
def list_documents(
    collection: CollectionOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """List the documents of a collection: knowledge id, chunks, revision, date, labels, ingest, title and file."""
    documents = run_async(lambda: _list(collection))
    if not documents:
        say("The collection is empty. Next: sourcebound ingest PATH")
    for document in documents:
        if as_json:
            print(json.dumps(document._asdict(), default=str, ensure_ascii=False))
            continue
        revision = f"  rev. {document.revision}" if document.revision else ""
        date = f"  {document.event_date}" if document.event_date else ""
        labels = f"  labels {' '.join(document.labels)}" if document.labels else ""
        ingested = f"{document.ingested_at:%Y-%m-%d %H:%M}"
        print(_line(f"{document.knowledge_id}  {document.chunks} chunks{revision}{date}{labels}  ingested {ingested}"))
        print(f"    {_line(f'{document.title} · {document.source_path}')}")


@app.command("label")
def label_documents(
    knowledge_ids: KnowledgeIds,
    label: Annotated[list[str] | None, typer.Option(help="A label that they get. Repeatable.")] = None,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="Remove their labels.")] = False,
    collection: CollectionOption = None,
) -> None:
    """Replace the labels of documents, all or none, without reading their files again.

    A key with labels opens a document if it has all of the document's labels. Keys without labels open every document
    of their collections. The next question sees the change.
    """
    labels = read_label_options(label, no_labels, "--no-labels")
    if labels is None:
        raise RequestError("no label is given.", "Add --label qa, or --no-labels to remove the labels.")
    documents = run_async(lambda: _label(knowledge_ids, collection, labels))
    for document in documents:
        before, after = (" ".join(each) or "none" for each in (document.labels, labels))
        print(_line(f"{document.knowledge_id}  labels {before} -> {after}"))


@app.command("remove")
def remove_documents(
    knowledge_ids: KnowledgeIds,
    collection: CollectionOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm. Nothing is removed without it.")] = False,
) -> None:
    """Remove documents, all or none. Search no longer finds them, and their evidence is no longer served.

    Their files stay, and an ingest of a file adds its document again, without labels: give them with
    --label or in FILE.meta.toml. Records of earlier answers stay.
    """
    documents = run_async(lambda: _remove(knowledge_ids, collection, yes and not dry_run, dry_run))
    for document in documents:
        action = "would remove" if dry_run else "removed"
        labels = f"  labels {' '.join(document.labels)}" if document.labels else ""
        print(_line(f"{action} {document.knowledge_id} ({document.chunks} chunks){labels}  {document.source_path}"))
    if not dry_run:
        say("Runs that used them keep their records. `sourcebound runs erase RUN --yes` erases the texts of a run.")


async def _list(name: str | None) -> "list[DocumentSummary]":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await services.index.list_documents((await _find_collection(services, name)).collection_id)


async def _label(knowledge_ids: Sequence[str], name: str | None, labels: tuple[str, ...]) -> "list[DocumentSummary]":
    """Replace the labels of documents, and return the documents as they were before."""
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings(), as_owner=True) as services:
        collection = await _find_collection(services, name)
        documents = await services.index.list_documents(collection.collection_id)
        chosen = _choose(documents, knowledge_ids, collection.name)
        ids = [document.knowledge_id for document in chosen]
        await services.index.label_documents(collection.collection_id, ids, labels)
        return chosen


async def _remove(
    knowledge_ids: Sequence[str], name: str | None, confirmed: bool, dry_run: bool
) -> "list[DocumentSummary]":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings(), as_owner=True) as services:
        collection = await _find_collection(services, name)
        documents = await services.index.list_documents(collection.collection_id)
        chosen = _choose(documents, knowledge_ids, collection.name)
        if confirmed:
            chosen_ids = [document.knowledge_id for document in chosen]
            await services.index.remove_documents(collection.collection_id, chosen_ids)
        elif not dry_run:
            listed = ", ".join(repr(document.knowledge_id) for document in chosen)
            raise RequestError(
                f"this would remove {listed} from the collection {collection.name!r}. Nothing was removed.",
                "To confirm, add --yes. --dry-run shows more.",
                code="NOT_CONFIRMED",
            )
        return chosen


async def _find_collection(services: "Services", name: str | None) -> "Collection":
    name = name or services.settings.collection
    collection = await services.index.find_collection(name)
    if collection is None:
        raise RequestError(
            f"there is no collection {name!r}.", "See `sourcebound collections`.", code="COLLECTION_NOT_FOUND"
        )
    return collection


def _choose(
    documents: "Sequence[DocumentSummary]", knowledge_ids: Iterable[str], collection: str
) -> "list[DocumentSummary]":
    """Return the documents with these ids, each once."""
    known = {document.knowledge_id: document for document in documents}
    wanted = list(dict.fromkeys(knowledge_ids))
    unknown = [knowledge_id for knowledge_id in wanted if knowledge_id not in known]
    if unknown:
        similar = dict.fromkeys(found for knowledge_id in unknown for found in suggest_ids(knowledge_id, list(known)))
        hint = f"Nearest: {', '.join(map(repr, similar))}. " if similar else ""
        raise RequestError(
            f"the collection {collection!r} has no document {', '.join(map(repr, unknown))}. Nothing was changed.",
            f"{hint}See `sourcebound documents list --collection {collection}`.",
            code="DOCUMENT_NOT_FOUND",
        )
    return [known[knowledge_id] for knowledge_id in wanted]


def suggest_ids(wanted: str, known: Sequence[str]) -> list[str]:
    """Return the ids that contain the text, else the ids with a similar spelling."""
    from difflib import get_close_matches

    holding = [knowledge_id for knowledge_id in known if wanted.casefold() in knowledge_id.casefold()]
    return holding[:MAX_SUGGESTIONS] or get_close_matches(wanted, known, MAX_SUGGESTIONS, MIN_LIKENESS)


def _line(text: str) -> str:
    """Remove control characters, because a title is untrusted text."""
    return "".join(character for character in text if character.isprintable())
