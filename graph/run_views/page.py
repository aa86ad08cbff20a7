"""Builds the page of a run from the stores, and checks access to its texts again (R6-7)."""

from pydantic import ValidationError

from sourcebound.contracts.ports import Access
from sourcebound.contracts.run_page.page import RunPage, RunRecord, documents_of, make_run_page
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.store.runs.log import RunSummary
from sourcebound.wiring import Services


async def build_run_page(
    services: Services,
    run: RunSummary,
    *,
    with_prompt: bool = False,
    access: Access | None = None,
    caller: str | None = None,
) -> RunPage:
    """Build the page of a recorded run.

    Args:
        services: The stores.
        run: The row of the run.
        with_prompt: Whether to show the text of its prompts.
        access: Decides who may read which document. Default: a local caller may read what the collection holds.
        caller: The reader.

    Returns:
        The page, without the texts of documents that the caller may not read (any more).

    Raises:
        RequestError: The run was recorded under other contracts (`RUN_UNREADABLE`).
        StoreError: The database did not answer.
    """
    engine = Engine(services)
    place = (run.thread_id, run.run_id)
    state, nodes = await engine.state(*place), await engine.trace(*place)
    records = [row for row in await services.audit_log.find_records(run.run_id) if row.columns["run_id"] == run.run_id]
    guard, collection = access or services.index, run.collection
    try:
        documents = documents_of(state)
        readable = {name for name in documents if not collection or await guard.may_read(caller, collection, name)}
        return make_run_page(RunRecord(run._asdict(), state, nodes, records), readable, with_prompt=with_prompt)
    except ValidationError as error:
        raise RequestError(
            f"run {run.run_id} was recorded under contracts that this version does not read.",
            f"Print its state with `sourcebound runs show {run.run_id} --json`.",
            code="RUN_UNREADABLE",
        ) from error
