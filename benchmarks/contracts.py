"""Time of the pure layers, beside a floor in the same run: one plain regular expression over the same text.

    python benchmarks/contracts.py

Prints medians and ratios; nothing here is part of the test run. Ratios travel between machines, milliseconds do not.
"""

import re
import statistics
from collections.abc import Callable
from time import perf_counter

from sourcebound.contracts.assembly import assemble
from sourcebound.contracts.policy import load_shipped_policy
from sourcebound.contracts.prompt import build_prompt
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.validation import validate

ROUNDS = 200
FLOOR = re.compile(r"\w+|[^\w\s]")
SENTENCES = (
    "The gland bolts of pump {n} are tightened to {t} N·m in revision C. ",
    "Run the pump for {n} minutes at {t} °C and check the seal for leaks. ",
    "Replace the oil every {n} hours, or on 3 March 202{d}, whichever comes first. ",
    "Part HP-{n}-{t} fits the bearing frame; its order number is 20-{t}0{d}. ",
)


def _text(seed: int, sentences: int) -> str:
    return "".join(
        SENTENCES[(seed + index) % 4].format(n=100 + seed * 7 + index, t=20 + index, d=index % 10)
        for index in range(sentences)
    )


def _bundle(rows: int) -> dict[str, object]:
    results = [
        {
            "chunk_id": f"manual-{number}#abc",
            "knowledge_id": f"manual-{number}",
            "rank": number,
            "similarity_score": 0.9 - number / 100,
            "chunk_text": _text(number, 10),
            "knowledge_type_effective": "manual",
            "source_reference": f"manual-{number}.pdf, p. {number}",
        }
        for number in range(rows)
    ]
    return {
        "request_id": "q",
        "run_id": "r",
        "user_question": "To what torque are the gland bolts tightened?",
        "retrieval_status": "SUCCESS",
        "index_version": "ix",
        "embedding_model": "minilm:all-MiniLM-L6-v2@53aa5117",
        "top_k": 12,
        "results": results,
    }


def _median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = perf_counter()
        work()
        times.append((perf_counter() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    """Prints one line a layer."""
    policy = load_shipped_policy("SOURCEBOUND_V1")
    run = Run(
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
    raw = _bundle(12)
    bundle = assemble(raw, policy, run)
    answer = "".join(
        f"{sentence.strip()} [{chunk.anchor}]\n"
        for chunk in bundle.selected_evidence
        for sentence in re.findall(r"[^.]+\.", chunk.sanitized_text)[:5]
    )
    chunks = " ".join(str(row["chunk_text"]) for row in raw["results"])  # type: ignore[attr-defined]
    seen = answer + bundle.evidence_block_text
    print(f"answer of {len(answer.split())} words against {len(bundle.selected_evidence)} chunks; 12 rows assembled")
    for name, work, text in (
        ("assemble", lambda: assemble(raw, policy, run), chunks),
        ("build_prompt", lambda: build_prompt(bundle, policy), bundle.evidence_block_text),
        ("validate", lambda: validate(answer, bundle, policy), seen),
    ):
        floor = _median_ms(lambda text=text: FLOOR.findall(text))  # type: ignore[misc]
        time = _median_ms(work)
        print(f"{name:<13} {time:7.3f} ms   floor {floor:6.3f} ms   ratio {time / floor:6.1f}")
    print("verdict:", validate(answer, bundle, policy).validation_status)


if __name__ == "__main__":
    main()
