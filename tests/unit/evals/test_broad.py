"""Collections of mixed subjects: half labelled, and only the questions whose paragraph is there."""

import pytest

from sourcebound.evals.broad import Labelled, mix

SOURCE = Labelled(
    [{"_id": f"p{number}", "title": "", "text": f"Text {number}."} for number in range(60)],
    [(f"question {number}", f"p{number}") for number in range(60)],
)
FILLERS = [{"_id": f"f{number}", "title": "", "text": f"Filler {number}."} for number in range(200)]


@pytest.mark.parametrize(("size", "labelled"), [(40, 20), (100, 50), (200, 60)])
def test_half_of_a_collection_is_labelled_as_far_as_there_are_so_many(size: int, labelled: int) -> None:
    mixed = mix([SOURCE], FILLERS, size)
    included = {document["_id"] for document in mixed.documents}
    assert len(mixed.documents) == len(included) == size
    assert sum(name.startswith("p") for name in included) == labelled
    assert sorted(mixed.answerable) == sorted(f"question {name[1:]}" for name in included if name.startswith("p"))
    assert mix([SOURCE], FILLERS, size) == mixed
