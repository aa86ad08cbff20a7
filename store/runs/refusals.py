"""The errors of a run that cannot be resumed, read or erased."""

from sourcebound.errors import RequestError
from sourcebound.store.checkpoints.pending import NEVER_BEGAN
from sourcebound.store.checkpoints.process_lease import LEASE_SECONDS


def unreadable_run_error() -> RequestError:
    """Build the error for a run that was recorded under other contracts."""
    return RequestError(
        "the run was recorded under contracts that this version does not read.",
        "Print its state with `sourcebound runs show RUN --json`; resume it with the version that started it.",
        code="RUN_UNREADABLE",
    )


def never_began_error() -> RequestError:
    """Build the error for a run that was interrupted before anything of it was stored."""
    return RequestError(
        "the run was interrupted before anything of it was stored.",
        "Ask the question again; the run's id is free.",
        code=NEVER_BEGAN,
    )


def not_resumable_error() -> RequestError:
    """Build the error for a run without a checkpoint to resume from."""
    return RequestError(
        "the run has no checkpoint to resume from, or its host ended it.",
        "Ask the question again.",
        code="NOT_RESUMABLE",
    )


def run_at_work_error() -> RequestError:
    """Build the error for a run that a process holds."""
    return RequestError(
        "the run is active.",
        f"Wait until it ends. If its process died on another machine, the run is free {LEASE_SECONDS} seconds later.",
        code="RUN_AT_WORK",
    )


def thread_shared_error(run_id: str, others: list[str]) -> RequestError:
    """Build the error for a run whose checkpoints hold texts of others."""
    return RequestError(
        f"run {run_id} shares its thread, and its texts, with {', '.join(others)}; nothing was erased.",
        f"To erase all of them: sourcebound runs erase {run_id} --thread --yes",
        code="THREAD_SHARED",
    )
