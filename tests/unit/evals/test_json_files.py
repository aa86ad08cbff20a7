"""EV-2: a file of an evaluation that cannot be read says so, and how it is written."""

from pathlib import Path

import pytest

from sourcebound.errors import RequestError
from sourcebound.evals.golden.comparison import Comparison, read_comparison
from sourcebound.evals.json_files import read_json_file


@pytest.mark.contract("EV-2")
@pytest.mark.parametrize("content", [b"{}", b"no JSON", b"\xff"])
def test_a_file_with_other_content_is_refused_with_the_next_step(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "summary.json"
    path.write_bytes(content)
    with pytest.raises(RequestError) as refused:
        read_json_file(path, Comparison, "a summary", "Write one.", "INVALID_SUMMARY")
    error = refused.value
    assert error.failure_code == "INVALID_SUMMARY"
    assert f"{path} is not a summary." in str(error)
    with pytest.raises(RequestError) as refused:
        read_comparison(path)
    assert refused.value.failure_code == "INVALID_COMPARISON"


@pytest.mark.contract("EV-2")
def test_a_file_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        read_comparison(tmp_path / "absent.json")
    assert refused.value.failure_code == "PATH_MISSING"
