"""A policy is a frozen document with a digest over what it says (P-1, P-2, P-6)."""

import hashlib
import json
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from sourcebound.contracts.policy import releases as policies
from sourcebound.contracts.policy.releases import SHIPPED, check_lock, load_shipped_policy, read_lock
from sourcebound.contracts.policy.schema import Policy, parse_policy
from support.builders import policy

COLUMNS = ("SOURCEBOUND_V1", "R2_POLICY_V1", "SOURCE_BOUNDED_V1", "QA_CONTRACT_V1", "GROUNDED_RAG_V1")
CALIBRATED = object()
"""A value that the specification leaves to calibration: there is one, and the policy says what it was measured for."""
TABLE: dict[str, tuple[object, ...]] = {
    "retrieval.top_k": (12, 8, 8, 8, 8),
    "retrieval.min_top_similarity": (CALIBRATED, 0.76, 0.20, 0.20, 0.30),
    "retrieval.min_question_coverage": (CALIBRATED, None, None, None, None),
    "selection.min_similarity": (CALIBRATED, 0, 0.20, 0.20, 0),
    "retrieval.fallback_min_similarity": (None, None, None, 0.18, None),
    "retrieval.probe_min_similarity": (None, None, None, None, 0.30),
    "retrieval.min_chunks": (1, 1, 2, 1, 1),
    "retrieval.min_sources": (1, 1, 1, 1, 1),
    "retrieval.max_requested_sources": (None, None, None, None, 10),
    "retrieval.mmr_lambda": (None, None, None, 0.60, None),
    "retrieval.hybrid": (True, False, False, False, False),
    "selection.max_chunks": (6, 6, 6, 6, 6),
    "selection.max_chunks_per_knowledge_id": (3, 2, 6, 6, 6),
    "selection.max_evidence_tokens": (2200, 2200, 2200, 2200, 2200),
    "prompt.max_total_prompt_tokens": (3500, 3500, 3500, 3500, 3500),
    "prompt.reserved_output_tokens": (800, 800, 800, 800, 800),
    "selection.max_chunk_token_ratio": (0.35, 0.35, 0.35, 0.35, 0.35),
    "selection.overlap_ratio_threshold": (0.80, 0.80, 0.80, 0.80, 0.80),
    "selection.trim_within_chunk": (False, True, False, False, False),
    "facts": (None, None, None, {"filter": "local", "min_question_overlap": 0.10}, None),
    "prompt.output_profile": ("prose", "prose", "prose", "answer_sentences", "prose"),
    "validation.literal_grounding": ("enforce", "measure", "enforce", "enforce", "measure"),
    "validation.attribution_target": (None, None, 0.90, None, None),
    "validation.attribution_coverage": (1.0, 1.0, 1.0, 1.0, 1.0),
    "validation.max_attempts": (1, 1, 2, 1, 1),
    "presentation": ("plain", "plain", "answer_sources", "numbered_confidence", "source_markers"),
    # what the specification gives no policy but by name: nobody else may have it
    "retrieval.expansions": (
        None,
        None,
        None,
        [{"when": "continuous processing", "add": ["continuous manufacturing", "ICH Q13"]}],
        None,
    ),
    "retrieval.neighbours": (None, None, None, None, None),
    "retrieval.document_hints": (None, None, None, None, None),
    "selection.knowledge_types": (None, None, None, None, None),
    "conversation": (None, None, None, None, None),
}
"""P-6, row by row; None is a rule that the policy does not have."""
CELLS = [(path, name, row[place]) for path, row in TABLE.items() for place, name in enumerate(COLUMNS)]


def _text(name: str) -> str:
    return (files("sourcebound.contracts.policy") / "released" / f"{name}.toml").read_text("utf-8")


@pytest.mark.contract("P-6")
@pytest.mark.parametrize(("path", "name", "expected"), CELLS, ids=[f"{path}-{name}" for path, name, _ in CELLS])
def test_a_shipped_policy_has_the_values_of_the_specification(path: str, name: str, expected: object) -> None:
    form: Any = load_shipped_policy(name).model_dump(mode="json")
    found = form
    for key in path.split("."):
        found = found[key]
    if expected is CALIBRATED:
        assert 0 < found < 1
        assert form["calibration"]["metric"] == "cosine"
    else:
        assert found == expected


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_policy_parses_and_bears_the_name_of_its_file(name: str) -> None:
    assert load_shipped_policy(name).policy_version == name


@pytest.mark.contract("P-6")
def test_every_policy_of_the_specification_is_shipped() -> None:
    assert set(COLUMNS) <= set(SHIPPED)


def test_a_policy_that_is_not_shipped_is_an_error() -> None:
    with pytest.raises(KeyError, match="NO_SUCH_V1"):
        load_shipped_policy("NO_SUCH_V1")


@pytest.mark.contract("P-3")
def test_the_default_names_what_its_gates_were_calibrated_for() -> None:
    calibration = load_shipped_policy("SOURCEBOUND_V1").calibration
    assert calibration is not None
    assert calibration.embedding_model
    assert calibration.metric == "cosine"


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("before", ["policy_version =", "top_k =", "min_similarity =", "template =", "segmenter ="])
def test_an_unknown_key_is_rejected_wherever_it_stands(before: str) -> None:
    text = _text("R2_POLICY_V1")
    assert before in text
    with pytest.raises(ValidationError, match="Extra inputs"):
        parse_policy(text.replace(before, f"generosity = 1\n{before}", 1))


@pytest.mark.contract("P-1")
def test_a_missing_key_is_rejected_and_never_defaulted() -> None:
    with pytest.raises(ValidationError, match="min_top_similarity"):
        parse_policy(_text("R2_POLICY_V1").replace("min_top_similarity = 0.76\n", ""))


@pytest.mark.contract("P-1")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("min_top_similarity = 0.76", "min_top_similarity = 1.01"),
        ("min_top_similarity = 0.76", "min_top_similarity = nan"),
        ("top_k = 8", "top_k = 0"),
        ("temperature = 0.0", "temperature = 0.1"),
        ("max_attempts = 1", "max_attempts = 0"),
        ("max_attempts = 1", "max_attempts = 4"),
        ('policy_version = "R2_POLICY_V1"', 'policy_version = "draft"'),
    ],
)
def test_a_value_out_of_its_range_is_rejected(before: str, after: str) -> None:
    text = _text("R2_POLICY_V1")
    assert before in text
    with pytest.raises(ValidationError):
        parse_policy(text.replace(before, after, 1))


def test_a_file_that_is_not_toml_is_an_error() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        parse_policy("top_k: 8")


@pytest.mark.contract("P-1")
def test_a_policy_cannot_be_changed() -> None:
    frozen = load_shipped_policy("R2_POLICY_V1")
    with pytest.raises(ValidationError, match="frozen"):
        setattr(frozen.retrieval, "top_k", 99)  # noqa: B010


@pytest.mark.contract("P-1")
def test_the_digest_is_sha256_over_sorted_compact_json_of_the_given_values() -> None:
    given = tomllib.loads(_text("R2_POLICY_V1"))
    canonical = json.dumps(given, sort_keys=True, separators=(",", ":")).encode()
    assert load_shipped_policy("R2_POLICY_V1").sha256 == hashlib.sha256(canonical).hexdigest()


@pytest.mark.contract("P-1")
def test_layout_and_comments_do_not_change_the_digest() -> None:
    text = _text("R2_POLICY_V1")
    head, *tables = text.split("\n[")
    shuffled = "# a remark\n" + head + "\n\n[" + "\n[".join(reversed(tables))
    assert shuffled != text
    assert parse_policy(shuffled).sha256 == parse_policy(text).sha256


@pytest.mark.contract("P-1")
@pytest.mark.parametrize(
    "changed",
    [
        policy(retrieval={"min_top_similarity": 0.77}),
        policy(selection={"max_chunks": 5}),
        policy(selection={"knowledge_types": ["manual"]}),
        policy(prompt={"reserved_output_tokens": 801}),
        policy(execution={"seed": 8}),
        policy(validation={"literal_grounding": "enforce"}),
    ],
)
def test_every_changed_value_changes_the_digest(changed: Policy) -> None:
    assert changed.sha256 != policy().sha256


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_with_other_values_has_a_digest_of_its_own(deep: bool) -> None:
    original, other = policy(), policy(execution={"seed": 8})
    digest = original.sha256
    assert original.model_copy(update={"execution": other.execution}, deep=deep).sha256 == other.sha256 != digest
    assert (original.sha256, original.model_copy(deep=deep).sha256) == (digest, digest)


@pytest.mark.contract("P-2")
@pytest.mark.parametrize("name", SHIPPED)
def test_a_policy_comes_back_from_state_with_the_same_digest(name: str) -> None:
    original = load_shipped_policy(name)
    stored = json.loads(json.dumps(original.model_dump(mode="json")))
    restored = Policy.model_validate(stored)
    assert restored == original
    assert restored.sha256 == original.sha256


@pytest.mark.contract("P-1")
def test_every_released_file_is_as_it_was_released() -> None:
    assert check_lock() == []


@pytest.mark.contract("P-1")
@pytest.mark.contract("R3-1")
def test_the_lock_names_every_released_policy_and_its_template() -> None:
    lock = read_lock()
    shipped = {name: load_shipped_policy(name) for name in SHIPPED}
    assert dict(lock["policies"]) == {name: released.sha256 for name, released in shipped.items()}
    for released in shipped.values():
        text = (files("sourcebound.contracts.prompt") / "templates" / f"{released.prompt.template}.txt").read_bytes()
        assert lock["templates"][released.prompt.template] == hashlib.sha256(text).hexdigest()
        assert released.prompt.template_sha256 == hashlib.sha256(text).hexdigest()


@pytest.mark.contract("P-1")
@pytest.mark.contract("R3-1")
def test_the_lock_covers_every_template_file_whether_or_not_a_policy_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = (files("sourcebound.contracts.prompt") / "templates").iterdir()
    names = {entry.name.removesuffix(".txt") for entry in entries}
    lock = read_lock()
    assert set(lock["templates"]) == names >= {"prose_v1", "answer_sentences_v1", "repair_v1"}
    for name in sorted(names):
        left = {other: digest for other, digest in lock["templates"].items() if other != name}
        monkeypatch.setattr(policies, "read_lock", lambda left=left: {**lock, "templates": left})
        (finding,) = check_lock()
        assert f"template {name} " in finding


def _load_changed(name: str) -> Policy:
    return policy(prompt={"template_sha256": "00"}).model_copy(update={"policy_version": name})


@pytest.mark.contract("P-1")
def test_a_changed_policy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "load_shipped_policy", _load_changed)
    findings = check_lock()
    for name in SHIPPED:
        assert any(name in finding and "new version name" in finding for finding in findings)
        assert any(name in finding and "another digest of template" in finding for finding in findings)


@pytest.mark.contract("R3-1")
@pytest.mark.parametrize("change", ["changed", "lost"])
def test_a_changed_or_lost_template_is_found(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    lock = read_lock()
    templates = {**lock["templates"], "prose_v1" if change == "changed" else "prose_v0": "00"}
    monkeypatch.setattr(policies, "read_lock", lambda: {**lock, "templates": templates})
    (finding,) = check_lock()
    assert f"template prose_v{int(change == 'changed')}" in finding
