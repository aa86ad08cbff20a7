"""Each question's prompt, built once by the product's own ingest, retriever, selection and prompt.

Retrieval takes minutes, and judging another generator on the same prompts takes seconds. So the cases are kept in a
file, one for each question.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, build_prompt
from sourcebound.contracts.request import unrecorded_run
from sourcebound.evals.answers.questions import QuestionSet
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.retrieval import ingest, retrieve, temporary_services, write_documents


class Case(BaseModel):
    """A question with its evidence and its prompt."""

    model_config = ConfigDict(frozen=True)

    set: str
    id: str
    kind: Kind
    question: str
    gold: tuple[str, ...]
    held: bool
    bundle: AnswerBundle
    """The evidence that the prompt shows; the outcome of a refused question."""
    prompt: Prompt

    @property
    def is_asked(self) -> bool:
        """Whether a generator is called."""
        return self.prompt.outcome.status is Status.OK


async def build_cases(sets: Sequence[QuestionSet], policy: Policy, embedder: str) -> list[Case]:
    """Ingest the documents of each set, and build the prompt of each of its questions under the policy."""
    cases = []
    async with temporary_services() as services:
        for each in sets:
            with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as folder:
                write_documents(Path(folder) / "documents", each.documents)
                await ingest(services, Path(folder) / "documents", each.name, embedder)
            for question in each.questions:
                run = unrecorded_run(question.text, each.name, policy.policy_version, policy.sha256, "evaluation")
                found = await retrieve(services, question.text, each.name, policy)
                built = build_prompt(assemble(found.to_json(), policy, run), policy)
                cases.append(
                    Case(
                        set=each.name,
                        id=question.id,
                        kind=question.kind,
                        question=question.text,
                        gold=question.gold,
                        held=question.held,
                        bundle=built.bundle,
                        prompt=built.prompt,
                    )
                )
    return cases


def write_cases(path: Path, cases: Sequence[Case]) -> None:
    """Write the cases as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(case.model_dump_json() + "\n" for case in cases), "utf-8")


def read_cases(path: Path) -> list[Case]:
    """Read the cases of a file."""
    return [Case.model_validate_json(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
