"""The measurements of several workers in one folder."""

from pathlib import Path

import pytest

from sourcebound.api.metrics import FOLDER, Metrics

ALIVE, FOREIGN, DEAD = 4_200_001, 4_200_002, 4_200_003  # beyond the process ids of Linux


def test_only_the_gauge_of_a_dead_worker_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(pid: int, signal: int) -> None:
        assert signal == 0
        if pid != ALIVE:
            raise PermissionError if pid == FOREIGN else ProcessLookupError

    monkeypatch.setattr("os.kill", kill)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for pid in (ALIVE, FOREIGN, DEAD):
        (tmp_path / f"gauge_livesum_{pid}.db").write_bytes(bytes(8))  # no value
    Metrics().render()
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"gauge_livesum_{ALIVE}.db",
        f"gauge_livesum_{FOREIGN}.db",
    ]
