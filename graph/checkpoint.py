"""Checkpoints in PostgreSQL: a saver a run over one pool, plain values only (contract CP-1, CP-2).

A saver serialises all its calls behind one lock, so each run gets its own; savers cost nothing.
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
from sourcebound.store.connection.database import Pool, fetch_one
from sourcebound.store.connection.queries import query


class RunSaver(AsyncPostgresSaver):
    """LangGraph's saver for a graph in which one node runs at a time; when a checkpoint is stored, the journal decides.

    The stock saver also keeps the writes of every node before it keeps the checkpoint that holds them; where nodes run
    alone, that says everything twice. Reading is the stock saver's own.

    What the nodes make can be made again, but for a model's answer, which `store.answers` keeps, and the audit record;
    the commit of either waits for the disk and brings every checkpoint before it there. So does a change by hand, and
    the first checkpoint of a run that could not be begun anew without it. A response is made again from the record, the
    same to the byte; one without a record waits for the disk too.

    A process from which another has taken its run over saves nothing more of it, and is told so. Nor does anybody save
    anything of what was erased while it was at work.

    Args:
        pool: The pool of `store.database`.
        journal: Where checkpoints go.
    """

    def __init__(self, pool: Pool, journal: CheckpointBuffer) -> None:
        super().__init__(pool, serde=StateSerializer())
        self._pool = pool
        self._journal = journal

    def get_next_version(self, current: str | int | None, channel: None = None) -> str:
        """The version after another: as the stock saver's, larger as text and no branch's own, and a third as long."""
        last = 0 if current is None else int(str(current).split(".")[0])
        return f"{last + 1:06}.{secrets.token_hex(4)}"

    def hold(self, thread_id: str) -> None:
        """What comes now goes with the run's last record, in one transaction or not at all."""
        self._journal.hold(thread_id)

    def release(self, thread_id: str) -> None:
        """Forgets what was to go with it."""
        self._journal.release(thread_id)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Gives the journal a checkpoint and the values that are new in it.

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
        row = {
            "id": checkpoint["id"],
            "parent": place.get("checkpoint_id"),
            "checkpoint": {**checkpoint, "channel_values": inline},
            "metadata": get_serializable_checkpoint_metadata(config, metadata),
        }
        page = PendingCheckpoint(
            namespace=namespace,
            parent=place.get("checkpoint_id"),
            form=json.dumps(row),
            blobs=[Blob(*blob[2:]) for blob in self._dump_blobs(thread_id, namespace, values, new)],
            run_id=thread_id if self._journal.worker else values.get("run", {}).get("run_id"),
            over=values["run"]["run_id"] if is_over else None,
            waits=is_begun or (is_over and "audit" not in values),
        )
        await self._journal.add(thread_id, page, is_begun=is_begun)
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Saves what is in no checkpoint: errors, interrupts and their like."""
        special = [write for write in writes if write[0] in WRITES_IDX_MAP]
        if special and await fetch_one(self._pool, query("find_erased_checkpoint"), config["configurable"]) is None:
            await super().aput_writes(config, special, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Removes a thread."""
        self._journal.drop(thread_id)
        await super().adelete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes what some runs of a host (by its own ids) left on their threads, as if they had not been made.

        A server of LangGraph's asks for it when a run is rolled back for another. Audit records stay (R5P-1).
        """
        self._journal.drop_runs_of_host(run_ids)
        await fetch_one(self._pool, query("remove_checkpoints_of_host_runs"), {"run_ids": list(run_ids)})


def _is_inline(value: object) -> bool:
    """Whether the stock saver keeps a value in the checkpoint itself."""
    return value is None or isinstance(value, str | int | float | bool)


def make_saver(pool: Pool, journal: CheckpointBuffer | None = None) -> RunSaver:
    """A checkpoint saver for one run.

    Args:
        pool: The pool of `store.database`.
        journal: Where its checkpoints go; one that stores each at once, for a host that sees to its runs itself, when
            omitted.

    Returns:
        The saver; its tables were made by `store.migrations`.
    """
    return RunSaver(pool, journal or CheckpointBuffer(pool))
