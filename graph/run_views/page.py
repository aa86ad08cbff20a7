"""Gathers what the stores hold of a run into its page; whose text may be shown is asked anew (contract R6-7)."""

from pydantic import ValidationError

from sourcebound.contracts.ports import Access
from sourcebound.contracts.run_page.page import RunPage, RunRecord, documents_of, read_run
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
    """The page of a recorded run.

    Args:
        services: The stores.
        run: The run's row.
        with_prompt: Whether the text of its prompts is shown.
        access: Who may read what; when omitted, whoever is at this machine, what is still in the collection.
        caller: Who asks.

    Returns:
        The page; the text of a document that the caller may not read (any more) is not in it.

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
        return read_run(RunRecord(run._asdict(), state, nodes, records), readable, with_prompt=with_prompt)
    except ValidationError as error:
        raise RequestError(
            f"run {run.run_id} was recorded under other contracts than those of this version.",
            f"See what was recorded with `sourcebound runs show {run.run_id} --json`.",
            code="RUN_UNREADABLE",
        ) from error
