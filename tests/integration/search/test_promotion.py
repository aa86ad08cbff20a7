"""A collection takes the place of another: at once, back again, and what was recorded stays as it was."""

import asyncio
from pathlib import Path

import pytest

from sourcebound.errors import ConfigurationError, RequestError
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services
from support.processes.databases import ingest, single

LIVE, NEXT = "live", "next"
QUESTION = "To what torque are the gland bolts of the HP-200 tightened?"


@pytest.fixture
async def versions(services: Services, tmp_path: Path) -> tuple[str, str]:
    """Index versions of the collection in use, and of one with a revised manual and one document more."""
    for name, torque in ((LIVE, 27), (NEXT, 31)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "manual.txt").write_text(f"The gland bolts of the HP-200 are tightened to {torque} N·m.\n", "utf-8")
        (folder / "canteen.txt").write_text("The canteen opens at noon.\n", "utf-8")
    (tmp_path / NEXT / "parking.txt").write_text("Visitors park behind hall 4.\n", "utf-8")
    for name in (LIVE, NEXT):
        await ingest(services, tmp_path / name, collection=name)
    return await _version(services, LIVE), await _version(services, NEXT)


async def _version(services: Services, name: str) -> str:
    return (await services.index.open_collection(name)).index_version


async def _names(services: Services) -> list[str]:
    return [collection.name for collection in await services.index.list_collections()]


async def test_the_promoted_collection_takes_the_name_and_the_other_keeps_it_with_its_version(
    services: Services, versions: tuple[str, str]
) -> None:
    old, new = versions
    kept = await services.index.promote(NEXT, LIVE)
    assert kept == f"{LIVE}@{old}"
    assert await _names(services) == [LIVE, kept]
    assert (await _version(services, LIVE), await _version(services, kept)) == (new, old)


async def test_it_goes_back_as_it_came(services: Services, versions: tuple[str, str]) -> None:
    old, new = versions
    kept = await services.index.promote(NEXT, LIVE)
    back = await services.index.promote(kept, LIVE)
    assert await _names(services) == [LIVE, back]
    assert (await _version(services, LIVE), await _version(services, back)) == (old, new)
    assert await services.index.promote(back, LIVE) == kept


async def test_whoever_asks_meanwhile_finds_one_or_the_other(services: Services, versions: tuple[str, str]) -> None:
    found: list[str | None] = []
    done = asyncio.Event()

    async def read() -> None:
        while not done.is_set():
            collection = await services.index.find_collection(LIVE)
            found.append(collection.index_version if collection else None)

    readers = [asyncio.create_task(read()) for _ in range(3)]
    candidate = NEXT
    for _ in range(40):
        candidate = await services.index.promote(candidate, LIVE)
    done.set()
    await asyncio.gather(*readers)
    assert set(found) == set(versions)


async def test_of_two_promotions_at_once_one_comes_after_the_other(
    services: Services, versions: tuple[str, str], tmp_path: Path
) -> None:
    await ingest(services, tmp_path / NEXT / "parking.txt", collection="third")
    all_versions = {*versions, await _version(services, "third")}
    for _ in range(10):
        kept = await asyncio.gather(services.index.promote(NEXT, LIVE), services.index.promote("third", LIVE))
        collections = await services.index.list_collections()
        assert {each.name for each in collections} == {LIVE, *kept}
        assert {each.index_version for each in collections} == all_versions
        assert all(each.name in (LIVE, f"{LIVE}@{each.index_version}") for each in collections)
        first = next(each.name for each in collections if each.index_version == versions[0])
        await _rename(services, {LIVE: "x", first: LIVE})
        others = [each for each in await services.index.list_collections() if each.name != LIVE]
        await _rename(services, dict(zip((each.name for each in others), (NEXT, "third"), strict=True)))


async def _rename(services: Services, names: dict[str, str]) -> None:
    async with services.pool.connection() as connection:
        for name, new in names.items():
            await connection.execute("UPDATE collections SET name = %s WHERE name = %s", (new, name))


async def test_the_documents_that_the_candidate_lacks_are_named(services: Services, versions: tuple[str, str]) -> None:
    live, candidate = [await services.index.open_collection(name) for name in (LIVE, NEXT)]
    assert await services.index.missing_documents(live, candidate) == []
    assert await services.index.missing_documents(candidate, live) == ["parking.txt"]
    await services.index.remove_documents(candidate.collection_id, ["manual.txt", "canteen.txt"])
    assert await services.index.missing_documents(live, candidate) == ["canteen.txt", "manual.txt"]


@pytest.mark.parametrize(("candidate", "name", "missing"), [("no", LIVE, "no"), (NEXT, "no", "no"), ("a", "b", "a")])
async def test_what_is_not_there_is_named(
    services: Services, versions: tuple[str, str], candidate: str, name: str, missing: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"there is no collection '{missing}'") as raised:
        await services.index.promote(candidate, name)
    assert raised.value.failure_code == "COLLECTION_NOT_FOUND"
    assert await _names(services) == [LIVE, NEXT]


async def test_a_name_that_is_taken_stops_it_and_changes_nothing(
    services: Services, versions: tuple[str, str], tmp_path: Path
) -> None:
    kept = f"{LIVE}@{versions[0]}"
    await ingest(services, tmp_path / LIVE / "canteen.txt", collection=kept)
    with pytest.raises(ConfigurationError) as raised:
        await services.index.promote(NEXT, LIVE)
    assert raised.value.failure_code == "COLLECTION_EXISTS"
    assert f"sourcebound index drop {kept}" in raised.value.next_step
    assert (await _version(services, LIVE), await _version(services, NEXT)) == versions
    await services.index.drop_collection(await services.index.open_collection(kept))
    assert await services.index.promote(NEXT, LIVE) == kept


@pytest.mark.contract("R1-9")
async def test_what_was_recorded_goes_on_naming_the_version_that_was_searched(
    services: Services, database: str, versions: tuple[str, str]
) -> None:
    engine = Engine(services)
    before = await engine.ask({"question": QUESTION, "collection": LIVE})
    await services.index.promote(NEXT, LIVE)
    after = await engine.ask({"question": QUESTION, "collection": LIVE})
    assert "27 N·m" in before.answer
    assert "31 N·m" in after.answer
    for run, version in zip((before.run_id, after.run_id), versions, strict=True):
        assert single(database, "SELECT index_version FROM validations WHERE run_id = %s", run) == version
        assert (await engine.state(run))["retrieval"]["index_version"] == version


@pytest.mark.contract("R6-7")
async def test_evidence_of_an_earlier_run_is_served_where_its_document_is_still_there(
    services: Services, versions: tuple[str, str]
) -> None:
    engine = Engine(services)
    before = await engine.ask({"question": QUESTION, "collection": LIVE})
    await services.index.promote(NEXT, LIVE)
    assert "27 N·m" in await engine.evidence(before.run_id, "C0")
    collection = await services.index.open_collection(LIVE)
    await services.index.remove_documents(collection.collection_id, ["manual.txt"])
    with pytest.raises(RequestError, match="no longer in the collection"):
        await engine.evidence(before.run_id, "C0")


async def test_an_index_goes_with_its_collection(services: Services, versions: tuple[str, str]) -> None:
    await _add_index(services, NEXT)
    kept = await services.index.promote(NEXT, LIVE)
    live, old = [await services.index.open_collection(name) for name in (LIVE, kept)]
    assert live.vector_index is not None
    assert old.vector_index is None


async def _add_index(services: Services, name: str) -> None:
    collection = await services.index.open_collection(name)
    async with services.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO vector_indexes (collection_id, name, ef_search, recall, chunks) VALUES (%s, 'x', 100, 1, 3)",
            (collection.collection_id,),
        )
