"""Asks the questions of a collection through the functions of the pipeline, from retrieval to the firewall.

Each question is retrieved once, and every figure is read off this one pass.
"""

import tempfile
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.contracts.certification.cases import contains_text
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import Outcome, Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModel, Embedder
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.request import unrecorded_run
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.evals.external.sets.collections import Collection, Facts, Question
from sourcebound.evals.gates import holds_answer
from sourcebound.evals.model.scoring import is_right
from sourcebound.evals.retrieval import MAX_BYTES, retrieve
from sourcebound.graph.batch.ordered import map_ordered
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.pipeline import Ingest
from sourcebound.wiring import Services

EMBEDDER: Final = "minilm"
AT_ONCE: Final = 4
LONGEST_FACT: Final = 12
"""The words of the longest accepted answer that can be looked for in an answer as it is."""


class Answered(NamedTuple):
    """A question with the result of each layer."""

    question: Question
    is_left_out: bool
    """Whether a candidate holds a known answer of a question that should have none."""
    before_model: bool
    """Whether the run ended before a generator was called."""
    outcome: Outcome
    answer: str = ""
    """The released answer, with its citations; empty if none was released."""
    level: str = ""
    cited: tuple[EvidenceChunk, ...] = ()
    is_right: bool | None = None
    """None if the data do not say what is right, or no answer was released."""
    says_facts: bool | None = None
    """The same, by the literal normalizer (R5-8). None also if an accepted answer is too long to look for."""
    in_prompt: bool | None = None
    """Whether the prompt holds what a right answer says."""
    ranking: Mapping[str, float] = {}
    in_candidates: Mapping[str, float] = {}
    shown: Mapping[str, float] = {}

    @property
    def released(self) -> bool:
        """Whether an answer was released."""
        return self.outcome.status is Status.OK

    @property
    def refused(self) -> bool:
        """Whether the whole pipeline refused."""
        return self.outcome.status is Status.NO_EVIDENCE


async def ask_collection(
    services: Services, collection: Collection, embedder: Embedder, policy: Policy, model: AnswerModel | None
) -> list[Answered]:
    """Ingest a collection and ask its questions, several at once.

    Args:
        services: A database; the collection is added to it.
        collection: The documents and the questions.
        embedder: Embeds the documents as `EMBEDDER` does.
        policy: The policy.
        model: The generator; None to end before it.

    Returns:
        The results in the order of the questions.
    """
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as folder:
        documents = collection.write(Path(folder) / "documents")
        ingest = Ingest(services.index, embedder, EMBEDDER, MAX_BYTES, services.parser)
        await ingest.run([documents], collection.name, Sidecar())
    asking = _Asking(services, collection.name, policy, model)
    async with aclosing(map_ordered(collection.questions, asking.ask, AT_ONCE)) as results:
        return [each async for each in results]


class _Asking:
    """Asks one question of a collection at a time."""

    def __init__(self, services: Services, collection: str, policy: Policy, model: AnswerModel | None) -> None:
        self._services, self._collection, self._policy, self._model = services, collection, policy, model

    async def ask(self, question: Question) -> Answered:
        """Ask a question and read every figure off its layers."""
        policy = self._policy
        found = await retrieve(self._services, question.text, self._collection, policy)
        run = unrecorded_run(question.text, self._collection, policy.policy_version, policy.sha256, "evaluation")
        built = build_prompt(assemble(found.to_json(), policy, run), policy)
        outcome, shown = built.prompt.outcome, built.bundle.selected_evidence
        answered = Answered(
            question,
            is_left_out=holds_answer(found, question.answers),
            before_model=outcome.status is not Status.OK,
            outcome=outcome,
            in_prompt=_says(" ".join(chunk.sanitized_text for chunk in shown), question.facts),
            ranking=question.ranking(found.results) if question.ranking else {},
            in_candidates=question.evidence(found.results) if question.evidence else {},
            shown=question.evidence(shown) if question.evidence else {},
        )
        if answered.before_model or self._model is None or not question.is_asked:
            return answered
        generated = await self._model.generate(built.prompt, policy)
        return _with_answer(answered, validate(generated.raw_model_text, built.bundle, policy), built.bundle)


def _with_answer(answered: Answered, result: ValidationResult, bundle: AnswerBundle) -> Answered:
    if result.outcome.status is not Status.OK:
        return answered._replace(outcome=result.outcome)
    by_anchor = {chunk.anchor: chunk for chunk in bundle.selected_evidence}
    facts, answer = answered.question.facts, result.validated_answer_text
    return answered._replace(
        outcome=result.outcome,
        answer=answer,
        level=str(result.support_level or ""),
        cited=tuple(by_anchor[anchor] for anchor in result.validated_citations if anchor in by_anchor),
        is_right=_says(answer, facts),
        says_facts=_says_exactly(answer, facts),
    )


def _says(text: str, facts: Facts) -> bool | None:
    return all(is_right(text, spellings) for spellings in facts) if facts else None


def _says_exactly(text: str, facts: Facts) -> bool | None:
    if not facts or any(len(spelling.split()) > LONGEST_FACT for fact in facts for spelling in fact):
        return None
    return says_facts(text, facts)


def says_facts(text: str, facts: Facts) -> bool:
    """Whether a text says every fact in one of its spellings. A number or date may be written in another way."""
    plain = CITATION.sub(" ", text)
    return bool(facts) and all(any(contains_text(plain, each) for each in fact) for fact in facts)
