"""The sizes that `doctor` prints, and the size from which it recommends pruning."""

import pytest

from sourcebound.cli.records.prune import WORTH_PRUNING, describe_sizes
from sourcebound.store.checkpoints.retention import Sizes


def test_sizes_are_told_in_megabytes_and_by_the_run() -> None:
    sizes = Sizes(
        runs=250_000, checkpoints=9_900_000, collections=12_340_000, audit=150_000, listed=125, whole=100, records=150
    )
    assert describe_sizes(sizes) == (
        "index 12.3 MB, checkpoints 9.9 MB (99.0 kB a run), runs 0.2 MB (2.0 kB a run), audit 0.1 MB (1.0 kB a record)",
        "",
    )


@pytest.mark.parametrize(("size", "said"), [(WORTH_PRUNING - 1, False), (WORTH_PRUNING, True)])
def test_pruning_is_spoken_of_where_checkpoints_take_much(size: int, said: bool) -> None:
    _, next_step = describe_sizes(Sizes(0, size, 0, 0, 0, 0, 0))
    assert next_step.startswith("sourcebound runs prune --older-than 30d") == said
