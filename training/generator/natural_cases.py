"""Writes the prompts of the natural questions of the part `dev`: `python training/generator/natural_cases.py OUT`.

The external filings and reports are left out, so that the ingest takes minutes. An accepted answer is any alternative
of any fact, so that a sentence that says a part of the answer counts.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.request import unrecorded_run
from sourcebound.evals.answers.cases import Case, write_cases
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.natural.questions import DEV, StaleQuestion, check_place, read_questions
from sourcebound.evals.natural.sources import collect, read_corpus
from sourcebound.evals.retrieval import ingest, retrieve, temporary_services
from sourcebound.wiring import DEFAULT_POLICY, find_policy

NAME = "natural"


async def build(folder: Path) -> list[Case]:
    """Collect the files into a folder, and build the prompt of each question that they answer or lack."""
    policy = find_policy(DEFAULT_POLICY, embedding_model="minilm")
    collect(read_corpus(), folder, Path(), Path("without external data"))
    cases = []
    async with temporary_services() as services:
        await ingest(services, folder, NAME, "minilm")
        for question in (each for each in read_questions() if each.part == DEV):
            try:
                check_place(question, folder)
            except StaleQuestion:
                continue
            run = unrecorded_run(question.question, NAME, policy.policy_version, policy.sha256, "training")
            found = await retrieve(services, question.question, NAME, policy)
            built = build_prompt(assemble(found.to_json(), policy, run), policy)
            cases.append(
                Case(
                    set=NAME,
                    id=question.id,
                    kind=Kind.ANSWERABLE if question.answerable else Kind.UNANSWERABLE,
                    question=question.question,
                    gold=tuple(alternative for fact in question.facts for alternative in fact),
                    held=False,
                    bundle=built.bundle,
                    prompt=built.prompt,
                )
            )
    return cases


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        write_cases(Path(sys.argv[1]), asyncio.run(build(Path(name))))
