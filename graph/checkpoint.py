"""Checkpoints in PostgreSQL: a saver a run over one pool, plain values only (contract CP-1, CP-2).

A saver serialises all its calls behind one lock, so each run gets its own; savers cost nothing. The serializer knows
no class of ours and never unpickles: state is JSON-ready, and a class that strayed into it would be an error here,
not a surprise when an old run is read.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sourcebound.errors import RequestError
from sourcebound.store.database import Pool, Row, fetch_one
from sourcebound.store.queries import query
from sourcebound.store.workers import Worker

THREADS: Final = 64
"""Threads at work at once whose checkpoints are kept in memory until their runs are over."""
RUN_ERASED: Final = "RUN_ERASED"
RUN_AT_WORK: Final = "RUN_AT_WORK"
NO_LONGER_OURS: Final = (RUN_ERASED, RUN_AT_WORK)
"""Codes of a run of which this process may store nothing more."""
NEVER_BEGAN: Final = "NEVER_BEGAN"
"""The code of a run of which nothing is stored."""


class RunSaver(AsyncPostgresSaver):
    """LangGraph's saver for a graph in which one node runs at a time: one statement a checkpoint.

    The stock saver also keeps the writes of every node before it keeps the checkpoint that holds them; where nodes run
    alone, that says everything twice. Reading is the stock saver's own.

    Only the commit of a run's first checkpoint waits for the disk, and that of a change by hand: from then on the run
    can be gone on with. What the nodes make can be made again, but for a model's answer, which `store.answers` keeps,
    and the audit record; the commit of either brings every checkpoint before it to disk. A response is made again from
    the record, the same to the byte; one without a record waits for the disk too.

    A process from which another has taken its run over saves nothing more of it, and is told so. Nor does anybody save
    anything of what was erased while it was at work.

    Args:
        pool: The pool of `store.database`.
        is_new: Whether its thread is known to have no checkpoint yet, so that none need be looked for.
        worker: This process, where each run has a thread of its own and carries the number of whoever is at it.
    """

    def __init__(self, pool: Pool, *, is_new: bool = False, worker: Worker | None = None) -> None:
        super().__init__(pool, serde=JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None))
        self._pool = pool
        self._is_new = is_new
        self._worker = worker
        self._written: dict[str, list[Row]] = {}
        """By thread, the checkpoints of a run that is at work, from its beginning; the latest thread last."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint to go on from; None where the thread is new."""
        if self._is_new and not self._written:
            return None
        return await super().aget_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Saves a checkpoint and the values that are new in it; where the one before it was lost, all of the run's.

        A database that crashes loses commits that did not wait for the disk. A run that outlives it has them all still.

        Raises:
            RequestError: The run is no longer this process's (`RUN_AT_WORK`, `NEVER_BEGAN`), or was erased
                (`RUN_ERASED`).
            StoreError: The database does not answer.
        """
        place = config["configurable"]
        thread_id, namespace = place["thread_id"], place["checkpoint_ns"]
        inline = {name: value for name, value in checkpoint["channel_values"].items() if _is_inline(value)}
        values = {name: value for name, value in checkpoint["channel_values"].items() if name not in inline}
        is_over = "response" in values and "response" in new_versions
        is_begun = metadata.get("source") != "loop"
        new = {name: version for name, version in new_versions.items() if name in values}
        blobs = self._dump_blobs(thread_id, namespace, values, new)
        row = {
            "thread_id": thread_id,
            "run_id": thread_id if self._worker else values.get("run", {}).get("run_id"),
            "namespace": namespace,
            "id": checkpoint["id"],
            "parent": place.get("checkpoint_id"),
            "checkpoint": json.dumps({**checkpoint, "channel_values": inline}),
            "metadata": json.dumps(get_serializable_checkpoint_metadata(config, metadata)),
            "commit": "on" if is_begun or (is_over and "audit" not in values) else "off",
            "over": values["run"]["run_id"] if is_over else None,
            "channels": _text_array([blob[2] for blob in blobs]),
            "versions": _text_array([blob[3] for blob in blobs]),
            "types": _text_array([blob[4] for blob in blobs]),
            "blobs": [blob[5] for blob in blobs],
        }
        before = self._written.pop(thread_id, [])
        written = [] if is_begun else before
        if not await self._save(row):
            for earlier in written:
                await self._save(earlier)
        if not is_over:
            self._written[thread_id] = [*written, row]
            for oldest in list(self._written)[:-THREADS]:  # cut off, or edited and left
                del self._written[oldest]
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    async def _save(self, row: Row) -> bool:
        """Whether the checkpoint before it is there."""
        known: list[int] | None = None
        found: Row | None = None
        while found is None or (not found["held"] and self._worker and known != self._worker.numbers):
            known = (
                [*self._worker.numbers] if self._worker else None
            )  # it may get another while the run's row is locked
            found = await fetch_one(self._pool, query("save_checkpoint"), row | {"workers": known})
            assert found is not None
        if found["erased"] or not found["held"]:
            raise _lost(found)
        return bool(found["follows"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Saves what is in no checkpoint: errors, interrupts and their like."""
        special = [write for write in writes if write[0] in WRITES_IDX_MAP]
        if special and await fetch_one(self._pool, query("find_erased_checkpoint"), config["configurable"]) is None:
            await super().aput_writes(config, special, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Removes a thread."""
        self._written.pop(thread_id, None)
        await super().adelete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes what some runs of a host (by its own ids) left on their threads, as if they had not been made.

        A server of LangGraph's asks for it when a run is rolled back for another. Audit records stay (R5P-1).
        """
        for thread_id, rows in list(self._written.items()):
            if any(json.loads(row["metadata"]).get("run_id") in run_ids for row in rows):
                del self._written[thread_id]
        await fetch_one(self._pool, query("remove_checkpoints_of_host_runs"), {"run_ids": list(run_ids)})


def _lost(found: Row) -> RequestError:
    """Why nothing more of a run is saved, by what `save_checkpoint` found."""
    if found["erased"]:
        return RequestError(
            "the run was erased while it was at work; nothing more of it was stored.",
            "Ask the question again, if it is still to be asked.",
            code=RUN_ERASED,
        )
    if found["listed"]:
        return RequestError(
            "another process has taken the run over, as it could not see that this one was still at it.",
            "Wait for its end there: sourcebound runs resume gives its response.",
            code=RUN_AT_WORK,
        )
    return RequestError(
        "the run is not in the list any more: it was taken off as one that never began.",
        "Ask the question again; the run's id is free.",
        code=NEVER_BEGAN,
    )


def _text_array(names: Sequence[str]) -> str:
    """Names of channels and their like as PostgreSQL reads an array; psycopg takes ten times as long to write it."""
    return "{" + ",".join(names) + "}"


def _is_inline(value: object) -> bool:
    """Whether the stock saver keeps a value in the checkpoint itself."""
    return value is None or isinstance(value, str | int | float | bool)


def make_saver(pool: Pool, *, is_new: bool = False, worker: Worker | None = None) -> RunSaver:
    """A checkpoint saver for one run.

    Args:
        pool: The pool of `store.database`.
        is_new: Whether the run begins on a thread of its own.
        worker: This process, whose number its runs carry; None for a host that sees to its runs itself.

    Returns:
        The saver; its tables were made by `store.migrations`.
    """
    return RunSaver(pool, is_new=is_new, worker=worker)
