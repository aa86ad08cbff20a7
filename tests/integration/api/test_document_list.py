"""The list of documents, part by part, of the documents that the caller may read."""

from typing import Any

import pytest

from sourcebound.wiring import open_services
from support.processes.databases import rows, settings_for
from support.processes.http_server import Served, served_over

MANY = """
INSERT INTO documents (collection_id, knowledge_id, source_path, source_reference, source_digest, media_type, title,
                       knowledge_type, chunk_digests, contents_digest, revision, labels)
SELECT collection_id, format('plan-%%s', n), '', '', '', 'text/plain', format('Größe 100%%%% of %%s', n),
       knowledge_type, '', '',
       CASE WHEN n = 3 THEN 'B' END, CASE WHEN n %% 2 = 0 THEN ARRAY['qa'] ELSE ARRAY[]::text[] END
FROM (SELECT * FROM documents LIMIT 1) d, generate_series(1, %s) n
"""


def listed(served: Served, headers: dict[str, str] | None = None, **query: Any) -> Any:
    answer = served.client.get("/v1/documents", params={"collection": "default", **query}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names_of(part: Any) -> list[str]:
    return [each["knowledge_id"] for each in part["documents"]]


@pytest.mark.contract("R6-7")
async def test_the_parts_of_the_list_are_the_whole_list_for_each_caller(library: str) -> None:
    rows(library, "DELETE FROM documents WHERE knowledge_id <> 'hp-200-manual-rev-c.pdf'")
    rows(library, MANY, 9)
    every = ["hp-200-manual-rev-c.pdf", *(f"plan-{n}" for n in range(1, 10))]
    visible = [name for name in every if name not in ("plan-2", "plan-4", "plan-6", "plan-8")]
    async with open_services(settings_for(library)) as services:
        made = [await services.api_keys.make("key", ("read",), None, None, labels) for labels in (None, [], ["qa"])]
    with served_over(library) as served:
        for key, expected in zip(made, (every, visible, every), strict=True):
            headers = {"authorization": f"Bearer {key.text}"}
            for size in (1, 3, len(expected), 1000):
                found: list[str] = []
                after: dict[str, Any] = {}
                for _ in range(len(expected)):
                    part = listed(served, headers, limit=size, **after)
                    assert (part["total"], len(part["documents"]) <= size) == (len(expected), True)
                    found += names_of(part)
                    after = {"after": part["next_after"]}
                    if part["next_after"] is None:
                        break
                assert (size, found) == (size, expected)
            gone = listed(served, headers, after="zzz")
            assert (gone["total"], gone["documents"], gone["next_after"]) == (len(expected), [], None)


def test_a_text_selects_documents_by_what_a_reader_sees_of_them(library: str) -> None:
    rows(library, MANY, 9)
    with served_over(library) as served:
        cases = {"GRÖ": 9, "größe 100% OF 7": 1, "plan-3 b": 1, "qa": 4, "%": 9, "100_": 0, "upload": 0}
        assert {text: listed(served, contains=text)["total"] for text in cases} == cases
        part = listed(served, contains="größe", limit=2, after="plan-3")
        assert (names_of(part), part["total"], part["next_after"]) == (["plan-4", "plan-5"], 9, "plan-5")


@pytest.mark.contract("S-4")
@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"contains": "x" * 201}])
def test_a_part_that_cannot_be_is_a_problem_with_its_field(served: Served, query: dict[str, Any]) -> None:
    answer = served.client.get("/v1/documents", params={"collection": "default", **query})
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")
    assert next(iter(query)) in answer.json()["errors"][0]["field"]
