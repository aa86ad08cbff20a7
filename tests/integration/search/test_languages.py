"""R1-5: full text goes by the language of the collection, with and without accents, in texts and in questions."""

import unicodedata
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sourcebound.errors import ConfigurationError
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.pipeline import Ingest
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import list_migrations, migrate
from sourcebound.wiring import Services, open_services
from support.processes.databases import ingest, rows, settings_for, single
from support.retrieving import kept_postings, policy_with, retrieve

EVERYTHING = policy_with("SOURCEBOUND_LEXICAL_V1", hybrid=False, candidate_pool=1000, top_k=1000)
SPELLINGS = {
    "english": [
        *("café cafe", "Résumé resume", "Poincaré Poincare", "naïve naive", "Zürich Zurich", "Łódź Lodz", "µm μm"),
        *("ﬁlters filter", "Straße strasse", "Ångström angstrom", "πίεση πιεση", "façades facade"),
    ],
    "german": ["Dichtflächen Dichtflachen", "Café Cafe", "Größe Grosse", "Ragoût Ragout", "Čapek Capek"],
    "french": ["élève eleve", "préparer preparer", "réfrigération refrigeration", "cœur coeur", "Señor Senor"],
    "spanish": ["presión presion", "válvulas valvulas", "año ano", "crème creme"],
    "portuguese": ["pressão pressao", "órgão orgao"],
    "turkish": ["ışık isik", "Şanzıman sanziman"],
    "greek": ["πίεση πιεση", "Café cafe"],
    "russian": ["ёмкость емкость", "café cafe"],
    "simple": ["Đà Da", "Nẵng nang", "ŽLUŤOUČKÝ zlutoucky"],
}
FORMS = {
    "german": ["Dichtungen Dichtung", "Prüfungen Prüfung", "Gehäuses Gehäuse"],
    "french": ["vérifiées vérifier", "étanchéités étanchéité"],
    "greek": ["αντλίας αντλίες"],
    "russian": ["насосами насоса", "ёмкости емкость"],
}
STOP_WORDS = {
    "german": "für und über während können",
    "french": "à la même été étaient",
    "russian": "и для ещё её",
    "hungarian": "után egyéb első",
    "english": "the of and",
}
UNKNOWN = list(product(["klingon", "", "German", "pg_catalog.german"], [False, True]))
OLD_SEARCH = (
    "setweight(to_tsvector('english', "
    "text || CASE WHEN text LIKE '%Dichtungs-%' THEN ' Dichtungsring' ELSE '' END), 'A') "
    "|| setweight(to_tsvector('english', concat_ws(' ', d.title, array_to_string(heading_path, ' '))), 'B')"
)
WEIGHED = "SELECT chunk_id, lexeme, cardinality(positions), weights FROM chunks, unnest(search) ORDER BY 1, 2"


async def _found(services: Services, question: str) -> set[str]:
    """The first letter of each document that is found by words."""
    return {row.knowledge_id[0] for row in (await retrieve(services, question, EVERYTHING)).results}


def _write(folder: Path, *texts: str) -> None:
    for name, text in zip("abcdefghij", texts, strict=False):
        (folder / f"{name}.md").write_text(f"{text}\n", "utf-8")


def _words(url: str, language: str, text: str) -> Any:
    return single(url, "SELECT search_words(%s::regconfig, %s)::text", language, text)


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize("language", SPELLINGS)
async def test_a_word_is_found_with_and_without_its_accents(
    services: Services, database: str, tmp_path: Path, language: str
) -> None:
    pairs = [pair.split() for pair in SPELLINGS[language]]
    decomposed = [unicodedata.normalize("NFD", first) for first, _ in pairs]
    texts = [" ".join(f"{word} 1." for word in words) for words in (*zip(*pairs, strict=True), decomposed)]
    _write(tmp_path, *texts)
    await ingest(services, tmp_path, language=language)
    assert sorted(text for (text,) in rows(database, "SELECT text FROM chunks")) == sorted(texts)
    for (first, second), apart in zip(pairs, decomposed, strict=True):
        for question in (first, second, apart, first.upper(), second.upper()):
            assert await _found(services, question) == {"a", "b", "c"}, question


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize("language", FORMS)
async def test_a_word_is_found_in_its_other_forms_where_the_language_is_known(
    services: Services, tmp_path: Path, language: str
) -> None:
    pairs = [pair.split() for pair in FORMS[language]]
    _write(tmp_path, " ".join(first for first, _ in pairs))
    await ingest(services, tmp_path, language=language)
    for first, second in pairs:
        for question in (first, second, unicodedata.normalize("NFD", second)):
            assert await _found(services, question) == {"a"}, question


@pytest.mark.contract("R1-5")
async def test_a_language_that_is_not_known_has_no_forms(services: Services, tmp_path: Path) -> None:
    _write(tmp_path, "Die Dichtung ist dicht.")
    await ingest(services, tmp_path, language="simple")
    assert await _found(services, "Dichtung") == {"a"}
    assert await _found(services, "die") == {"a"}, "it has no stop words either"
    assert await _found(services, "Dichtungen") == set()


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_are_none_to_search_for_whichever_way_they_are_written(database: str, language: str) -> None:
    for form in ("NFC", "NFD"):
        assert _words(database, language, unicodedata.normalize(form, STOP_WORDS[language])) == ""


def test_words_keep_their_places_and_equal_ones_become_one(database: str) -> None:
    assert _words(database, "english", "Café, pump, cafe: CAFE\u0301") == "'cafe':1,3,4 'pump':2"
    assert _words(database, "french", "élève, pompe, eleve") == "'elev':1,3 'pomp':2"


def test_quotes_and_backslashes_do_no_harm(database: str) -> None:
    text = r"l'été d'É'x \é\\ 'ü\' http://münchen.de/é\x?q='ö' C:\tmp\né <b a='é'>ß</b>"
    for language in ("english", "french", "german", "simple"):
        assert _words(database, language, text) == _words(database, language, unicodedata.normalize("NFD", text))


def test_text_in_other_scripts_is_left_as_it_is(database: str) -> None:
    for text in ("がぎぐ", "한국어", "किताब पृष्ठ", "กำลัง", "شدّة", "йод чай"):
        composed = unicodedata.normalize("NFC", text)
        expected = single(database, "SELECT to_tsvector('simple', %s)::text", composed)
        assert _words(database, "simple", composed) == expected
        assert _words(database, "simple", unicodedata.normalize("NFD", composed)) == expected


def test_every_letter_that_is_folded_becomes_one_that_is_not(database: str) -> None:
    """Otherwise folding would never end: the time limit ends this test."""
    marked = "SELECT chr(n) AS letter FROM generate_series(1, 65535) AS n WHERE n NOT BETWEEN 55296 AND 57343"
    folded = f"SELECT letter, fold_letters(letter, marked_letter('')) AS plain FROM ({marked}) AS m"
    limit = "SELECT set_config('statement_timeout', '30s', false) IS NOT NULL AS set OFFSET 0"
    changed = rows(database, f"WITH t AS MATERIALIZED ({limit}) SELECT f.* FROM t, ({folded}) f WHERE letter <> plain")
    assert len(changed) > 800
    samples = "é e  ß ss  ø o  æ ae  Ł L  ﬁ fi  µ μ  Ώ Ω  Ё Е  ẵ a".split()
    assert [dict(changed)[letter] for letter in samples[::2]] == samples[1::2]
    assert dict(changed)["\u0301"] == ""
    assert "й" not in dict(changed)


def test_words_without_marks_are_those_of_the_server(library: str) -> None:
    plain = "SELECT count(*) FROM chunks WHERE search_words('english', text) <> to_tsvector('english', text)"
    assert single(library, plain + " AND text !~ '[^\\x01-\\x7f]'") == 0
    assert single(library, "SELECT count(*) FROM chunks WHERE text ~ '[^\\x01-\\x7f]'") > 0


async def test_a_collection_keeps_its_language_and_a_new_one_has_that_of_the_setting(
    services: Services, tmp_path: Path
) -> None:
    _write(tmp_path, "Die Dichtung.")
    work = Ingest(services.index, None, "lexical", 1000, services.parser, language="french")
    await work.run([tmp_path], "a", Sidecar(), language="german")
    await work.run([tmp_path], "b", Sidecar())
    again = await work.run([tmp_path], "a", Sidecar())
    assert again.unchanged == 1
    found = {collection.name: collection.language for collection in await services.index.list_collections()}
    assert found == {"a": "german", "b": "french"}
    assert (await ingest(services, tmp_path, collection="c")).added == 1
    collection = await services.index.find_collection("c")
    assert collection is not None
    assert collection.language == "english"


@pytest.mark.parametrize("dry_run", [False, True])
async def test_another_language_for_a_collection_that_has_one_is_refused(
    services: Services, database: str, tmp_path: Path, dry_run: bool
) -> None:
    _write(tmp_path, "Die Dichtung.")
    await ingest(services, tmp_path, language="german")
    _write(tmp_path, "La pompe.")
    with pytest.raises(ConfigurationError) as raised:
        await ingest(services, tmp_path, language="french", dry_run=dry_run)
    assert raised.value.failure_code == "INDEX_LANGUAGE_MISMATCH"
    assert "is german" in raised.value.message
    assert "names french" in raised.value.message
    assert raised.value.next_step.startswith("Ingest into another collection")
    assert rows(database, "SELECT text FROM chunks") == [("Die Dichtung.",)]


@pytest.mark.parametrize(("language", "dry_run"), UNKNOWN)
async def test_a_language_that_the_server_does_not_know_is_refused_with_those_that_it_does(
    services: Services, database: str, tmp_path: Path, language: str, dry_run: bool
) -> None:
    _write(tmp_path, "A pump.")
    with pytest.raises(ConfigurationError) as raised:
        await ingest(services, tmp_path, language=language, dry_run=dry_run)
    assert raised.value.failure_code == "UNKNOWN_LANGUAGE"
    assert repr(language) in raised.value.message
    known = [name for (name,) in rows(database, "SELECT cfgname FROM pg_ts_config")]
    assert {"german", "greek", "simple"} < set(known)
    assert all(name in raised.value.next_step for name in known)
    assert rows(database, "SELECT 1 FROM collections") == []


async def test_a_configuration_of_your_own_is_no_language(services: Services, database: str, tmp_path: Path) -> None:
    _write(tmp_path, "A pump.")
    rows(database, "CREATE TEXT SEARCH CONFIGURATION public.house (COPY = english)")
    with pytest.raises(ConfigurationError, match="house"):
        await ingest(services, tmp_path, language="house")
    rows(database, "CREATE TEXT SEARCH CONFIGURATION public.german (COPY = english)")
    rows(database, "ALTER ROLE CURRENT_USER SET search_path = public, pg_catalog")
    try:
        await ingest(services, tmp_path, language="german")
        assert single(database, "SELECT language::oid::regconfig::text FROM collections") == "pg_catalog.german"
        assert single(database, "SELECT own_letters(language) <> '' FROM collections")
        assert [found.language for found in await services.index.list_collections()] == ["german"]
    finally:
        rows(database, "ALTER ROLE CURRENT_USER RESET search_path")


def _as_it_was(url: str, old: str) -> None:
    """Fills a database from before the migration with the chunks of another, and what they were found by then."""
    with psycopg.connect(url) as source, psycopg.connect(old) as target:
        for table in ("collections", "documents", "chunks"):
            made = target.execute(f"CREATE TEMPORARY TABLE taken AS SELECT * FROM {table} LIMIT 0; TABLE taken")
            made.nextset()
            columns = ", ".join(column.name for column in made.description or ())
            out, into = f"COPY {table} ({columns}) TO STDOUT", "COPY taken FROM STDIN"
            with source.cursor().copy(out) as reader, target.cursor().copy(into) as writer:
                for block in reader:
                    writer.write(block)
            if table == "chunks":
                target.execute(
                    f"UPDATE taken SET search = {OLD_SEARCH} FROM documents d WHERE d.document_id = taken.document_id"
                )
            target.execute(f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM taken")
            target.execute("DROP TABLE taken")


async def test_chunks_that_are_there_are_found_by_the_same_words_as_new_ones(
    services: Services, database: str, empty_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(
        tmp_path,
        "The café of Poincaré and the résumé.\n\n# Łódź\n\nThe façade – 5 °C.",
        "A pump in a plain text.\n\n# Café\n\nAnother plain text.",
        unicodedata.normalize("NFD", "The naïve résumé, and a Dichtungs-\nring of Zürich."),
        "The ﬁlter and the Dichtungs-\nring of Straße, naïve and naive.",
        "Plain from start to end.",
    )
    await ingest(services, tmp_path)
    same = "SELECT chunk_id, chunk_no, text, document_id FROM chunks ORDER BY 1"
    plain = "SELECT chunk_id, xmin::text FROM chunks WHERE text LIKE 'Plain%' ORDER BY 1"
    earlier = [migration for migration in list_migrations() if migration.version < 8]
    async with open_pool(empty_database, max_size=2) as pool:
        with monkeypatch.context() as patch:
            patch.setattr("sourcebound.store.connection.migrations.list_migrations", lambda: earlier)
            await migrate(pool)
        _as_it_was(database, empty_database)
        untouched = rows(empty_database, plain)
        assert rows(empty_database, WEIGHED) != rows(database, WEIGHED)
        assert "language" in [migration.name for migration in await migrate(pool)]
    assert rows(empty_database, WEIGHED) == rows(database, WEIGHED)
    assert kept_postings(empty_database) == kept_postings(database)
    assert rows(empty_database, same) == rows(database, same)
    assert rows(empty_database, plain) == untouched
    async with open_services(settings_for(empty_database)) as migrated:
        assert await _found(migrated, "cafe") == {"a", "b"}
        assert await _found(migrated, "Dichtungsring") == {"c", "d"}
        assert await _found(migrated, "resume") == {"a", "c"}
