"""The README shows the routing table as it is."""

from xml.etree import ElementTree

import pytest

from sourcebound.graph import picture
from sourcebound.graph.diagram import draw
from sourcebound.graph.routing import DETOURS, ROUTES, STRAIGHT, targets
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


def test_the_picture_is_up_to_date() -> None:
    assert (ROOT / "docs" / "graph.svg").read_text("utf-8") == picture.draw(), "run: make picture"
    assert "](docs/graph.svg)" in README.read_text("utf-8")


def test_the_picture_shows_every_way() -> None:
    ways = {(edge.source, edge.target) for edge in picture.edges()}
    detours = {(source, detour.target) for source, several in DETOURS.items() for detour in several}
    assert ways | detours == {*STRAIGHT.items(), *((node, target) for node in ROUTES for target in targets(node))}
    drawn = ElementTree.fromstring(picture.draw())
    assert len(drawn.findall("{*}path")) == len(ways) + len(detours)
    assert {text.text for text in drawn.findall("{*}text")} >= {"start", *ROUTES, "record", "package", "finish"}
