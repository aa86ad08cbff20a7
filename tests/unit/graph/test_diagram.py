"""The README shows the routing table as it is."""

import pytest

from sourcebound.graph.diagram import draw
from support.places import ROOT

README = ROOT / "README.md"


def test_the_readme_shows_the_routing_table() -> None:
    assert f"```mermaid\n{draw()}\n```" in README.read_text("utf-8")


def test_every_node_can_end_at_the_record() -> None:
    drawn = draw()
    for node in ("accept", "retrieve", "assemble", "build_prompt", "generate"):
        assert f"{node} -- NO_EVIDENCE / FAILED --> record" in drawn
    assert "validate -- OK / NO_EVIDENCE / FAILED --> record" in drawn


@pytest.mark.contract("R5-12")
def test_the_one_loop_and_the_second_entry_are_drawn() -> None:
    assert "    validate -- rejected, with an attempt left --> build_prompt" in draw().splitlines()
    assert "    accept -- OK, with a retrieval bundle --> assemble" in draw().splitlines()
