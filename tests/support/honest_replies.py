"""Checks of the sets of honest and false replies."""

from collections.abc import Iterable
from functools import cache

from sourcebound.contracts.text.citations import find_citations
from sourcebound.evals.honest import FAITHFUL, Reply, Verdict, judge, load_replies
from support.places import ROOT


@cache
def verdicts_of(name: str) -> tuple[Verdict, ...]:
    """Judge the set of this name once."""
    return tuple(judge(load_replies(ROOT / "tests" / "assets" / "honest" / name)))


def check_citations(replies: Iterable[Reply]) -> None:
    """Check that each reply has an id of its own and cites its evidence, and that each false one has a note."""
    ids = set[str]()
    for reply in replies:
        assert reply.id not in ids, reply.id
        ids.add(reply.id)
        anchors = {citation.anchor for citation in find_citations(reply.reply)}
        assert anchors, reply.id
        assert anchors <= {f"C{place}" for place in range(len(reply.evidence))}, reply.id
        assert reply.note or reply.label == FAITHFUL, reply.id
