"""The checks of `sourcebound doctor` on what is stored: schema, end of the audit chain, a sample of the contents."""

from typing import TYPE_CHECKING, Final, NamedTuple

from sourcebound.errors import SourceboundError

if TYPE_CHECKING:
    from sourcebound.contracts.corpus.collection import Collection
    from sourcebound.wiring import Services

RECORDS: Final = 100
"""The number of audit records at the end of the chain that are recomputed."""
DOCUMENTS: Final = 10
"""The number of documents of each collection that are checked."""
NAMED: Final = 5
"""The number of findings that a line names."""
RESTORE: Final = "Restore the database from a backup: sourcebound does not make again what is gone."


class StoredFinding(NamedTuple):
    """The result of one check, with the fields of a finding of `doctor`."""

    subject: str
    fine: bool
    found: str
    next_step: str = ""


class StoredReport(NamedTuple):
    """The results, and whether the schema is complete. If it is not, nothing else can be examined."""

    findings: list[StoredFinding]
    is_complete: bool


async def examine_stored(services: "Services") -> StoredReport:
    """Check the schema and then, if it is complete, the end of the audit chain and a sample of each collection."""
    schema = await _examine_schema(services)
    if not schema.fine:
        return StoredReport([schema], False)
    contents = [await _examine_contents(services, each) for each in await services.index.list_collections()]
    return StoredReport([schema, await _examine_chain(services), *contents], True)


async def _examine_schema(services: "Services") -> StoredFinding:
    from sourcebound.store.connection.schema_check import expected_objects, find_missing_objects

    missing = await find_missing_objects(services.pool)
    if missing:
        return StoredFinding("schema", False, f"gone or altered: {_name_first(missing)}", RESTORE)
    return StoredFinding("schema", True, f"all {len(expected_objects())} objects of the migrations exist")


async def _examine_chain(services: "Services") -> StoredFinding:
    try:
        report = await services.audit_log.verify(RECORDS)
    except SourceboundError as error:
        return StoredFinding("audit", False, error.message, error.next_step)
    if report.broken:
        found = f"broken at position {report.broken.position}: {report.broken.finding}"
        return StoredFinding("audit", False, found, "sourcebound audit verify")
    return StoredFinding(
        "audit", True, f"the last {report.records} records match, up to position {report.end.position}"
    )


async def _examine_contents(services: "Services", collection: "Collection") -> StoredFinding:
    """Check a few documents of a collection, drawn by chance."""
    from sourcebound.contracts.text.sanitize import visible
    from sourcebound.ingest.chunking.searchable_text import further_words
    from sourcebound.store.search.contents import ContentsCheck

    full = f"sourcebound index check --contents --collection {collection.name}"
    check = ContentsCheck(services.pool, collection, further_words)
    try:
        findings = [f"{found.name} ({found.code})" async for found in check.run(DOCUMENTS)]
    except SourceboundError as error:
        return StoredFinding("contents", False, f"{collection.name}: {error.message}", error.next_step)
    if findings:
        return StoredFinding("contents", False, visible(f"{collection.name}: altered: {_name_first(findings)}"), full)
    sampled = f"{collection.name}: {check.documents} of {collection.documents} documents are what was ingested"
    return StoredFinding("contents", True, f"{sampled} (all: {full})")


def _name_first(names: list[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
