"""2,000 random edits of one value each, in exports and in stored checkpoints: none is accepted that says anything."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest
from pydantic import ValidationError

from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import VERIFIED, NotReplayable, RecordedRun
from sourcebound.contracts.replay.run_file import read_run_file, write_run_file
from sourcebound.graph.replay.recorded_run import SERDE, read_recorded
from sourcebound.graph.replay.verify import verify
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.checkpoints.archive import StoredRun
from support.processes.databases import Cluster
from support.processes.model_servers import ModelServer
from support.replaying import cases, opened, record, stored, write_policies

EDITS: Final = 1000
"""For exports and for checkpoints each."""
SEED: Final = 20_240_301
SAYS_NOTHING: Final = re.compile(
    r"records\.position"  # `audit verify` checks the place in the chain
    r"|checkpoints\.(parent_)?checkpoint_id"  # of a checkpoint before the run, or the last one
    r"|checkpoints\.metadata\..*"  # LangGraph's notes; a false `source` of a node's checkpoint is found
    r"|checkpoints\.checkpoint\.(id|ts|v|updated_channels|versions_seen\..*)"
    r"|checkpoints\.checkpoint\.channel_(values|versions)\.(branch:to:.*|__start__)"  # its schedule
)
"""Places that may change unseen, because they say nothing of the run (contract CP-3)."""


class Edit(NamedTuple):
    """An edited run, and the place of the edit."""

    place: str
    run: RecordedRun | NotReplayable


@pytest.fixture(scope="module")
def history(
    cluster: Cluster, filled: str, minilm: MiniLmEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> list[StoredRun]:
    """One stored run for each way in which a run can end."""
    policies = write_policies(tmp_path_factory.mktemp("policies"))

    async def make() -> list[StoredRun]:
        with ModelServer() as server:
            async with opened(url, server, minilm) as engine:
                return [await stored(engine, await record(engine, server, case)) for case in cases(policies).values()]

    url = cluster.create(filled)
    try:
        return asyncio.run(make())
    finally:
        cluster.drop(url)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value that holds no other."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    if not isinstance(value, dict | list | tuple):
        yield path
    for name, item in inner:
        yield from _leaves(item, (*path, name))


def _edit_leaf(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """Copy a value with another one at a place."""
    if not path:
        return change(value)
    copied = list(value) if isinstance(value, list | tuple) else dict(value)
    copied[path[0]] = _edit_leaf(value[path[0]], path[1:], change)
    return copied


def _other(chance: random.Random) -> Callable[[Any], Any]:
    """Return an edit of one value: another of its kind, or none at all."""

    def change(value: Any) -> Any:
        if isinstance(value, str) and value and chance.random() < 0.8:
            place = chance.randrange(len(value))
            return value[:place] + chance.choice("abcXYZ019 .") + value[place + chance.randrange(2) :]
        if isinstance(value, str):
            return f"{value}x"
        if isinstance(value, bool | None):
            return not value
        return value + chance.choice((1, -1, 0.5))

    return change


def _random_edit(value: Any, chance: random.Random) -> tuple[tuple[Any, ...], Any]:
    """Edit one random value inside of another, so that its JSON differs."""
    path, before = chance.choice(list(_leaves(value))), json.dumps(value, default=str)
    after = value
    while json.dumps(after, default=str) == before:
        after = _edit_leaf(value, path, _other(chance))
    return path, after


def _place(*parts: object) -> str:
    """Name a place without the numbers of lists."""
    return ".".join(str(part) for part in parts if not isinstance(part, int))


def _edit_export(stored: StoredRun, chance: random.Random) -> Edit:
    """Edit an export of a run, and compute its digest again."""
    run = read_recorded(stored)
    assert isinstance(run, RecordedRun)
    path, form = _random_edit(run.model_dump(mode="json"), chance)
    try:
        edited = RecordedRun.model_validate(form)
    except ValidationError:
        return Edit(_place(*path), NotReplayable(run.run_id, "RUN_FILE_DAMAGED", "", ""))
    exported = read_run_file(write_run_file(edited, "0"))
    assert isinstance(exported, RecordedRun)
    return Edit(_place(*path), exported)


def _edit_stored(stored: StoredRun, chance: random.Random) -> Edit:
    """Edit a value of a channel, a checkpoint, an audit row or a text in the database."""
    table = chance.choice(("values", "values", "values", "checkpoints", "records", "texts"))
    rows = list(getattr(stored, table))
    if not rows:
        return _edit_stored(stored, chance)
    number = chance.randrange(len(rows))
    row = rows[number]
    if table == "values":
        value = SERDE.loads_typed((row.type, row.blob or b""))
        path, value = _random_edit(value, chance) if row.type != "empty" else ((), "x")
        kind, blob = SERDE.dumps_typed(value)
        rows[number] = row._replace(type=kind, blob=blob)
        place = _place(row.channel, *path)
    elif table == "texts":
        path, form = _random_edit(row.model_dump(mode="json"), chance)
        form["salt"] = form.get("salt")
        if not all(isinstance(value, str | int | None) and not isinstance(value, bool) for value in form.values()):
            return _edit_stored(stored, chance)  # no column of the table holds it
        rows[number], place = row.model_copy(update=form), _place("texts", *path)
    else:
        path, form = _random_edit(row._asdict(), chance)
        rows[number], place = type(row)(**form), _place(table, *path)
    parts: dict[str, Any] = {table: tuple(rows)}
    return Edit(place, read_recorded(stored._replace(**parts)))


async def _is_accepted(edit: Edit) -> bool:
    """Whether `replay verify --all` exits with 0 for an edited run."""
    result = await verify(edit.run, load_shipped_release()) if isinstance(edit.run, RecordedRun) else edit.run
    return result.verdict is None or result.verdict in VERIFIED


@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-10")
@pytest.mark.parametrize("make_edit", [_edit_export, _edit_stored])
async def test_no_random_edit_is_accepted(
    history: list[StoredRun], make_edit: Callable[[StoredRun, random.Random], Edit]
) -> None:
    chance, accepted = random.Random(SEED), Counter[str]()
    for _ in range(EDITS):
        edit = make_edit(chance.choice(history), chance)
        if await _is_accepted(edit):
            accepted[edit.place] += 1
    assert [place for place in accepted if not SAYS_NOTHING.fullmatch(place)] == []
