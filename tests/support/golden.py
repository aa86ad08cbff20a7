"""Builders of golden items and their results."""

from typing import Any

from sourcebound.contracts.outcome import Status
from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.evals.golden.items import GoldenItem, Kind
from sourcebound.evals.golden.results import Circumstances, ItemResult


def golden_item(**changes: Any) -> GoldenItem:
    """Build an item that must be answered from `doc-0`, page 7."""
    form: dict[str, Any] = {
        "id": "seal",
        "kind": "answerable_one",
        "question": "How often must the shaft seal be checked?",
        "status": ["OK"],
        "citations": [[{"document": "doc-0", "page": 7}]],
        "facts": [["12 hours", "twice a day"]],
    }
    return GoldenItem.model_validate(form | changes)


def item_result(name: str = "seal", **changes: Any) -> ItemResult:
    """Build the result of an item that must be answered and passes."""
    form: dict[str, Any] = {
        "item": name,
        "kind": Kind.ANSWERABLE_ONE,
        "question": "How often?",
        "accepted": (Status.OK,),
        "run_id": f"run-{name}",
        "status": Status.OK,
        "facts": 1,
        "facts_said": 1,
        "places": 1,
        "places_cited": 1,
        "citations_right": 1,
        "cited": ({"document": "doc-0", "page": 7},),
        "ranks": (0,),
        "attribution_coverage": 1.0,
        "hallucinated": False,
        "passed": True,
    }
    return ItemResult.model_validate(form | changes)


def refused_result(name: str = "moon", **changes: Any) -> ItemResult:
    """Build the result of an off-topic item that was refused."""
    absent: dict[str, Any] = {"facts": 0, "facts_said": 0, "places": 0, "places_cited": 0, "citations_right": 0}
    form: dict[str, Any] = {
        "kind": Kind.OFF_TOPIC,
        "accepted": (Status.NO_EVIDENCE,),
        "status": Status.NO_EVIDENCE,
        "code": "below_similarity_gate",
        "cited": (),
        "ranks": (),
        "attribution_coverage": None,
    }
    return item_result(name, **(absent | form | changes))


def circumstances(**changes: Any) -> Circumstances:
    """Build the circumstances of an evaluation."""
    form: dict[str, Any] = {
        "set_name": "golden.jsonl",
        "set_sha256": "ab" * 32,
        "items": 2,
        "policy_version": "SOURCEBOUND_V2",
        "policy_sha256": "cd" * 32,
        "model": "extractive",
        "embedding_model": "minilm",
        "index_versions": {"eval": "ix-1"},
        "versions": THIS_VERSION,
        "commit": "0123456789ab",
        "started_at": "2026-01-01T00:00:00+00:00",
    }
    return Circumstances.model_validate(form | changes)
