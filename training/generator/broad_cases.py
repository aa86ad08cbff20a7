"""Writes prompts of questions that broad collections do not answer: `python …/generator/broad_cases.py DATA OUT`.

The collections are those that the gate was calibrated on (`sourcebound.evals.gates`), of 100, 1,000 and 5,000
paragraphs. Something in them is near to any question, so these prompts are the hard ones to refuse. Those that only
check the gate bring none, and neither do the questions of the held half of `sourcebound.evals.answers`. A question
whose known answer a candidate holds is left out.
"""

import asyncio
import sys
import tempfile
from collections.abc import Set
from pathlib import Path

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.request import unrecorded_run
from sourcebound.evals.answers.cases import Case, write_cases
from sourcebound.evals.answers.questions import read_sets
from sourcebound.evals.gates import Corpus, holds_answer, read_broad
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.retrieval import ingest, retrieve, temporary_services, write_documents
from sourcebound.wiring import DEFAULT_POLICY, Services, find_policy

EMBEDDER = "minilm"
NAME = "broad"


async def build(data: Path) -> list[Case]:
    """Ingest each collection, and build the prompts of its off-topic questions that the gate lets through."""
    cases = []
    held = {question.text for each in read_sets(data) for question in each.questions if question.held}
    async with temporary_services() as services:
        for number, corpus in enumerate(read_broad(data)[0]):
            collection = f"{NAME}-{number}"
            with tempfile.TemporaryDirectory() as folder:
                write_documents(Path(folder) / "documents", corpus.documents)
                await ingest(services, Path(folder) / "documents", collection, EMBEDDER)
            cases += await _ask(services, collection, corpus, held)
    return cases


async def _ask(services: Services, collection: str, corpus: Corpus, held: Set[str]) -> list[Case]:
    policy, cases = find_policy(DEFAULT_POLICY, embedding_model=EMBEDDER), []
    asked = (each for _, questions in corpus.off_topic for each in questions if each not in held)
    for question in dict.fromkeys(asked):
        found = await retrieve(services, question, collection, policy)
        if holds_answer(found, corpus.known_answers.get(question, ())):
            continue
        run = unrecorded_run(question, collection, policy.policy_version, policy.sha256, "training")
        built = build_prompt(assemble(found.to_json(), policy, run), policy)
        case = Case(
            set=NAME,
            id=f"{collection}-{len(cases)}",
            kind=Kind.UNANSWERABLE,
            question=question,
            gold=(),
            held=False,
            bundle=built.bundle,
            prompt=built.prompt,
        )
        cases += [case] if case.is_asked else []
    return cases


if __name__ == "__main__":
    write_cases(Path(sys.argv[2]), asyncio.run(build(Path(sys.argv[1]))))
