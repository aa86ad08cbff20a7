"""The records: runs, the evidence of their citations, and receipts (R6-7, CP-8)."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from sourcebound.api.callers import CallerAccess, CallerOf, find_run, requiring
from sourcebound.api.run_view import RunView, view_run
from sourcebound.api.server import ServerOf
from sourcebound.contracts.presentation.source_view import SourceView
from sourcebound.graph.run_views.page import build_run_page
from sourcebound.graph.run_views.receipt import issue_receipt
from sourcebound.store.audit.signing_key import SigningKey
from sourcebound.store.checkpoints.archive import PostgresHistory

router = APIRouter(tags=["records"], dependencies=[Depends(requiring("read"))])
RunId = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/v1/runs/{run_id}")
async def read_run(run_id: RunId, server: ServerOf, caller: CallerOf) -> RunView:
    """Return a recorded run: its response and how it was made."""
    services = server.services
    run = await find_run(server, caller, run_id)
    access = CallerAccess(services.index, caller)
    page = await build_run_page(services, run, access=access, caller=caller.key_id)
    return view_run(page, await services.feedback.list(run_id))


@router.get(
    "/v1/runs/{run_id}/receipt", response_class=Response, responses={200: {"content": {"application/json": {}}}}
)
async def read_receipt(run_id: RunId, server: ServerOf, caller: CallerOf) -> Response:
    """Return the signed receipt of a run: hashes of its texts, not the texts.

    `sourcebound receipt verify` checks it.
    """
    services = server.services
    run = await find_run(server, caller, run_id)
    key = SigningKey.load(services.settings.signing_key_file)
    history = PostgresHistory(services.pool)
    receipt = await issue_receipt(server.engine, services.audit_log, history, run, key)
    name = f'attachment; filename="receipt-{run.run_id}.json"'
    return Response(receipt, media_type="application/json", headers={"Content-Disposition": name})


@router.get("/v1/evidence/{run_id}/{anchor}")
async def read_evidence(
    run_id: RunId, anchor: Annotated[str, Path(pattern=r"^C\d{1,4}$")], server: ServerOf, caller: CallerOf
) -> SourceView:
    """Return a source of a run with the words that its answer rests on, and their place on its page.

    Whether the caller may read the document is checked again. Offsets count characters (Unicode code points).
    """
    run = await find_run(server, caller, run_id)
    access = CallerAccess(server.services.index, caller)
    return await server.engine.source(run.thread_id, anchor, access, caller.key_id, run.run_id)
