"""CP-10: the runs that an earlier version exported are verified by this one: every ending, every released policy.

A file of `tests/recorded` never changes. The version in its name wrote it with `sourcebound runs export --all`.
"""

import gzip

import pytest

from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import RecordedRun, ReplayStatus, RunReport
from sourcebound.contracts.replay.run_file import read_run_file
from sourcebound.graph.replay.verify import verify
from support.places import ROOT

FILES = sorted((ROOT / "tests" / "recorded").glob("*.jsonl.gz"))
RUNS = [
    pytest.param(line, id=f"{file.name.removesuffix('.jsonl.gz')}-{number}")
    for file in FILES
    for number, line in enumerate(gzip.decompress(file.read_bytes()).decode().splitlines())
]
POLICIES_OF_0_1_0 = {"SOURCEBOUND_V1", "R2_POLICY_V1", "SOURCE_BOUNDED_V1", "GROUNDED_RAG_V1", "QA_CONTRACT_V1"}


def _read(line: str) -> RecordedRun:
    run = read_run_file(line)
    assert isinstance(run, RecordedRun)
    return run


@pytest.mark.contract("CP-10")
@pytest.mark.parametrize("line", RUNS)
async def test_a_run_of_an_earlier_version_matches(line: str) -> None:
    report = await verify(_read(line), load_shipped_release())
    assert isinstance(report, RunReport)
    assert [layer for layer in report.layers if layer.verdict is ReplayStatus.DRIFT] == []
    assert report.verdict in (ReplayStatus.OLDER, ReplayStatus.FORK)


@pytest.mark.contract("CP-10")
def test_every_ending_and_policy_of_the_first_release_is_there() -> None:
    states = [_read(run.values[0]).final_state() for run in RUNS]  # type: ignore[arg-type]
    assert {state["policy"]["policy_version"] for state in states} >= POLICIES_OF_0_1_0
    assert set(SHIPPED) >= POLICIES_OF_0_1_0
    assert {state["outcome"]["status"] for state in states} == {"OK", "NO_EVIDENCE", "FAILED"}
    assert len({state["outcome"]["failure_code"] or state["outcome"]["refusal_code"] for state in states}) > 12
