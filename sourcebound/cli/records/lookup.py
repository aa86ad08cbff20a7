"""Finds the run that a command names."""

from typing import TYPE_CHECKING

from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.store.runs.log import RunSummary
    from sourcebound.wiring import Services


async def find_run(services: "Services", run: str) -> "RunSummary":
    """Find the one run with this id, this start of an id, or this request id.

    Raises:
        RequestError: There is no such run, or more than one.
    """
    matches = await services.run_log.find_runs(run)
    if len(matches) != 1:
        problem = "more than one run starts" if matches else "no run starts"
        raise RequestError(f"{problem} with {run!r}.", "See `sourcebound runs list`.", code="RUN_NOT_FOUND")
    return matches[0]
