"""Checkpoints in PostgreSQL: one saver for each run over one pool, plain values only (CP-1, CP-2).

A saver serialises all its calls behind one lock, so each run gets its own. Savers cost nothing.
"""

import json
import secrets
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from sourcebound.graph.serializer import StateSerializer
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.pending import Blob, PendingCheckpoint
from sourcebound.store.connection.database import Pool, fetch_one, store_faults
from sourcebound.store.connection.queries import query


class RunSaver(AsyncPostgresSaver):
    """LangGraph's saver for a graph in which one node runs at a time; the checkpoint buffer decides when to store.

    The stock saver also stores the writes of every node before the checkpoint that holds them. For nodes that run one
    at a time, that stores everything twice. Reading is the stock saver's own.

    The output of a node can be recomputed, except a model's answer, which `store.runs.model_answers` stores, and the
    audit record. The commit of either waits for the disk and stores every earlier checkpoint. So does an edit by a
    person, and the first checkpoint of a run that could not be restarted without it. A response can be recomputed from
    the record byte for byte; a response without a record waits for the disk too.

    If another process took the run over, this one stores nothing more of it and raises an error. No process stores
    anything of a run that was erased while it was active.

    Args:
        pool: The pool of `store.connection.database`.
        buffer: Receives the checkpoints.
    """

    def __init__(self, pool: Pool, buffer: CheckpointBuffer) -> None:
        super().__init__(pool, serde=StateSerializer())
        self._pool = pool
        self._buffer = buffer

    def get_next_version(self, current: str | int | None, channel: None = None) -> str:
        """Return the next version in the stock saver's form, so that both order each other's versions (CP-9).

        The part after the point makes it unique to a branch, also in processes that were forked from one.
        """
        last = 0 if current is None else int(str(current).split(".")[0])
        return f"{last + 1:032}.{secrets.randbelow(10**16):016}"

    def defer_to_record(self, thread_id: str) -> None:
        """Store the following checkpoints with the last record of the run, in one transaction or not at all."""
        self._buffer.defer_to_record(thread_id)

    def discard_deferred(self, thread_id: str) -> None:
        """Discard the checkpoints that wait for the record."""
        self._buffer.discard_deferred(thread_id)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Add a checkpoint and its new values to the buffer.

        Raises:
            RequestError: The run no longer belongs to this process (`RUN_AT_WORK`, `NEVER_BEGAN`), or was erased
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
        row = {
            "id": checkpoint["id"],
            "parent": place.get("checkpoint_id"),
            "checkpoint": {**checkpoint, "channel_values": inline},
            "metadata": get_serializable_checkpoint_metadata(config, metadata),
        }
        pending = PendingCheckpoint(
            namespace=namespace,
            parent=place.get("checkpoint_id"),
            row_json=json.dumps(row),
            blobs=[Blob(*blob[2:]) for blob in self._dump_blobs(thread_id, namespace, values, new)],
            run_id=thread_id if self._buffer.lease else values.get("run", {}).get("run_id"),
            ends_run_id=values["run"]["run_id"] if is_over else None,
            synchronous_commit=is_begun or (is_over and "audit" not in values),
        )
        await self._buffer.add(thread_id, pending, is_begun=is_begun)
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store writes that are in no checkpoint, such as errors and interrupts."""
        special = [write for write in writes if write[0] in WRITES_IDX_MAP]
        if special and await fetch_one(self._pool, query("find_erased_checkpoint"), config["configurable"]) is None:
            await super().aput_writes(config, special, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread; its runs are pruned (CP-7)."""
        self._buffer.forget(thread_id)
        await super().adelete_thread(thread_id)
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("mark_pruned"), {"threads": [thread_id]})

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of a host's runs, named by its own ids.

        LangGraph's server calls this when it rolls a run back for another. Audit records stay (R5P-1).
        """
        self._buffer.forget_host_runs(run_ids)
        await fetch_one(self._pool, query("remove_checkpoints_of_host_runs"), {"run_ids": list(run_ids)})


def _is_inline(value: object) -> bool:
    """Whether the stock saver stores a value in the checkpoint itself."""
    return value is None or isinstance(value, str | int | float | bool)


def make_saver(pool: Pool, buffer: CheckpointBuffer | None = None) -> RunSaver:
    """Make a checkpoint saver for one run.

    Args:
        pool: The pool of `store.connection.database`.
        buffer: Receives the checkpoints. Default: a buffer that stores each one at once, for a host that manages its
            runs itself.

    Returns:
        The saver. The migrations create its tables.
    """
    return RunSaver(pool, buffer or CheckpointBuffer(pool))
