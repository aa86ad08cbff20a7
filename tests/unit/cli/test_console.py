"""Progress where stderr is not a terminal: plain lines, and none for a short command."""

import pytest

from sourcebound.cli import console


def test_progress_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    monkeypatch.setattr(console, "monotonic", lambda: now)
    with console.progress("files", 30) as report:
        for done in range(1, 31):
            now += 1.0
            report(done, description=f"file {done}")
    assert capsys.readouterr().err.splitlines() == [f"files: {done} of 30  file {done}" for done in range(5, 31, 5)]


def test_a_total_that_becomes_known_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(console, "monotonic", lambda: now)
    with console.progress("runs") as report:
        now = 6.0
        report(1)
        now = 12.0
        report(2, 9)
    assert capsys.readouterr().err.splitlines() == ["runs: 1", "runs: 2 of 9"]


def test_a_short_command_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("files", 2) as report:
        report(1)
        report(2)
    assert capsys.readouterr().err == ""
