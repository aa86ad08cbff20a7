"""Benchmark the pure layers against a floor in the same run: one plain regular expression over the same text.

    python benchmarks/contracts.py

It prints medians and ratios and is not part of the test run. Ratios are comparable between machines, times are not.
Times are of the processor, so that other programs hardly change them. A cold cache holds no text of a chunk, as when no
earlier answer has cited it.
"""

import re
import statistics
from collections.abc import Callable
from pathlib import Path
from time import process_time

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.validation.binding.places import read_places
from sourcebound.contracts.validation.exemptions import _content
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.literals.check import _read_chunk
from sourcebound.contracts.validation.literals.surroundings import surroundings_of
from sourcebound.contracts.validation.support.claims import read_claim
from sourcebound.contracts.validation.support.passages import read_passage
from sourcebound.contracts.validation.support.polarity.clauses import read_chunk_clauses
from sourcebound.contracts.validation.support.reversals import polarity_of

ROUNDS = 200
ANSWER_WORDS = 400
STATEMENTS = 5
SENTENCE = re.compile(r"[A-Z][^.\n]{20,}[.](?=\s|$)")
CACHES = (
    _read_chunk,
    surroundings_of,
    read_passage,
    polarity_of,
    read_chunk_clauses,
    _content,
    read_claim,
    read_places,
)
FLOOR = re.compile(r"\w+|[^\w\s]")
SOURCES = Path(__file__).parents[1] / "examples" / "sources"
CHUNK_CHARACTERS = 850


def _texts(count: int) -> list[str]:
    """Cut the example manuals at paragraphs into texts of about the length of a chunk."""
    texts, text = [], ""
    for path in sorted(SOURCES.glob("*.md")):
        for paragraph in path.read_text("utf-8").split("\n\n"):
            text = f"{text}\n\n{paragraph}".strip()
            if len(text) >= CHUNK_CHARACTERS:
                texts.append(text)
                text = ""
    return texts[5 : 5 + count]


def _bundle(rows: int) -> dict[str, object]:
    results = [
        {
            "chunk_id": f"manual-{number}#abc",
            "knowledge_id": f"manual-{number}",
            "rank": number,
            "similarity_score": 0.9 - number / 100,
            "chunk_text": text,
            "knowledge_type_effective": "manual",
            "source_reference": f"manual-{number}.pdf, p. {number}",
        }
        for number, text in enumerate(_texts(rows))
    ]
    return {
        "request_id": "q",
        "run_id": "r",
        "user_question": "To what torque are the gland bolts tightened?",
        "retrieval_status": "SUCCESS",
        "index_version": "ix",
        "embedding_model": "minilm:all-MiniLM-L6-v2@53aa5117",
        "top_k": 12,
        "question_coverage": 1.0,
        "results": results,
    }


def _nothing() -> None:
    """Prepare nothing."""


def _forget_chunks() -> None:
    for cache in CACHES:
        cache.cache_clear()


def _reworded_statements(bundle: AnswerBundle) -> str:
    """Return five statements, each a reworded sentence of another chunk, so that the verifier compares words."""
    lines = []
    for chunk in bundle.selected_evidence[:STATEMENTS]:
        words = SENTENCE.findall(chunk.sanitized_text)[0].split()
        lines.append(f"According to the manual, {' '.join([*words[:-3], 'also', *words[-3:]])} [{chunk.anchor}]")
    return "\n".join(lines)


def _median_ms(work: Callable[[], object], prepare: Callable[[], object] = _nothing) -> float:
    times = []
    for _ in range(ROUNDS):
        prepare()
        started = process_time()
        work()
        times.append((process_time() - started) * 1000)
    return statistics.median(times)


def _make_run(policy: Policy) -> Run:
    return Run(
        request_id="q",
        run_id="r",
        thread_id="t",
        question="To what torque are the gland bolts tightened?",
        collection=None,
        filters=Filters(),
        model="extractive",
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        entry="bundle",
        started_at="2026-01-01T00:00:00+00:00",
    )


def main() -> None:
    """Print one line per layer, and two for the validation of five statements under each policy."""
    policy = load_shipped_policy("SOURCEBOUND_V1")
    run = _make_run(policy)
    raw = _bundle(12)
    bundle = assemble(raw, policy, run)
    answer = ""
    for chunk in 2 * bundle.selected_evidence:
        for sentence in SENTENCE.findall(chunk.sanitized_text):
            if len(answer.split()) < ANSWER_WORDS:
                answer += f"{sentence} [{chunk.anchor}]\n"
    chunks = " ".join(str(row["chunk_text"]) for row in raw["results"])  # type: ignore[attr-defined]
    validated_text = answer + bundle.evidence_block_text
    print(f"answer of {len(answer.split())} words against {len(bundle.selected_evidence)} chunks; 12 rows assembled")
    for name, work, prepare, text in (
        ("assemble", lambda: assemble(raw, policy, run), _nothing, chunks),
        ("build_prompt", lambda: build_prompt(bundle, policy), _nothing, bundle.evidence_block_text),
        ("validate", lambda: validate(answer, bundle, policy), _nothing, validated_text),
        ("  cold cache", lambda: validate(answer, bundle, policy), _forget_chunks, validated_text),
    ):
        floor = _median_ms(lambda text=text: FLOOR.findall(text))  # type: ignore[misc]
        time = _median_ms(work, prepare)
        print(f"{name:<13} {time:7.3f} ms   floor {floor:6.3f} ms   ratio {time / floor:6.1f}")
    print("verdict:", validate(answer, bundle, policy).validation_status)
    for version in ("SOURCEBOUND_V1", "SOURCEBOUND_V2"):
        _time_statements(version)


def _time_statements(version: str) -> None:
    """Print the time of the validation of five statements."""
    policy = load_shipped_policy(version)
    bundle = assemble(_bundle(12), policy, _make_run(policy))
    answer = _reworded_statements(bundle)
    verifier = "with" if policy.validation.support else "without"
    for name, prepare in (("chunks read before", _nothing), ("cold cache", _forget_chunks)):
        time = _median_ms(lambda: validate(answer, bundle, policy), prepare)
        print(f"{STATEMENTS} statements, {verifier} the verifier, {name}: {time:.2f} ms")


if __name__ == "__main__":
    main()
