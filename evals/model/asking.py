"""Asks the questions through the product. Replies are kept, so an interrupted evaluation continues where it stopped.

The product's own ingest, retriever, prompt, client and firewall run; only the questions and the judgement are ours.
"""

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.evals.model.questions import Question
from sourcebound.evals.model.remembered import RememberedModels
from sourcebound.evals.retrieval import ingest, temporary_services, write_documents
from sourcebound.graph.engine import Engine
from sourcebound.models.local.server import ServedModel
from sourcebound.wiring import Services

TIMEOUT_SECONDS: Final = 1800
"""A busy machine computes slowly, and a missed deadline would be a fault of the machine, not of the model."""
PROFILE: Final = """[models."openai:{name}"]
base_url = "{url}"
wire = "chat_completions"
context_window = {window}
seed = true
structured_output = true
max_requests = 1
timeout_seconds = {timeout}
budget_seconds = {timeout}
"""


class Outcome(BaseModel):
    """The outcome of one question under one policy."""

    model_config = ConfigDict(frozen=True)

    policy: str
    question_id: str
    status: str
    code: str
    """The refusal or failure code; empty for a released answer."""
    answer: str
    raw_text: str
    """The model's text; empty if the model was not called."""
    cited: tuple[str, ...]
    """The texts of the cited chunks."""
    seconds: float
    """Of the last model call, as it was when the reply was not yet kept."""
    prompt_tokens: int
    completion_tokens: int


def write_profile(path: Path, model: ServedModel, context_tokens: int) -> Path:
    """Write the registry entry of a served model and return the path."""
    path.write_text(
        PROFILE.format(name=model.name, url=model.url, window=context_tokens, timeout=TIMEOUT_SECONDS), "utf-8"
    )
    return path


def embedder_of(policy: Policy) -> str:
    """Return the embedder whose index a policy needs."""
    return "lexical" if policy.calibration and policy.calibration.embedding_model == "lexical" else "minilm"


@asynccontextmanager
async def open_collections(
    model: ServedModel,
    context_tokens: int,
    documents: Mapping[str, Sequence[dict[str, Any]]],
    embedders: Iterable[str],
    replies: Path,
) -> AsyncIterator[Engine]:
    """Open an engine over a temporary database that holds the documents, once for each embedder.

    Args:
        model: The served model.
        context_tokens: The size of its window.
        documents: The records of each collection.
        embedders: `minilm`, `lexical`.
        replies: The file that keeps the model's replies.

    Yields:
        The engine. A collection is named `COLLECTION-EMBEDDER`.
    """
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as folder:
        registry = write_profile(Path(folder) / "models.toml", model, context_tokens)
        async with temporary_services(registry) as services, AsyncExitStack() as stack:
            services.models = RememberedModels(services.settings, replies)
            stack.push_async_callback(services.models.close)
            for name, records in documents.items():
                write_documents(Path(folder) / name, records)
                for embedder in embedders:
                    await _ingest_all(services, Path(folder) / name, f"{name}-{embedder}", embedder, len(records))
            yield Engine(services)


async def _ingest_all(services: Services, path: Path, collection: str, embedder: str, documents: int) -> None:
    summary = await ingest(services, path, collection, embedder)
    if summary.added != documents:
        raise ValueError(f"{collection}: {summary.added} of {documents} documents were ingested")


async def ask_all(
    engine: Engine,
    model: str,
    questions: Sequence[Question],
    policies: Sequence[Policy],
    limits: Mapping[str, int],
    path: Path,
    progress: Callable[[Outcome], None],
) -> list[Outcome]:
    """Ask each question under each policy.

    Args:
        engine: The engine.
        model: The name of the model, `openai:NAME`.
        questions: The questions. All policies answer one before the next is asked.
        policies: The policies.
        limits: The limits of each request (P-4).
        path: The file that receives each outcome.
        progress: Receives each outcome.

    Returns:
        One outcome for each question and policy.
    """
    outcomes = []
    pairs = [(question, policy) for question in questions for policy in policies]
    with path.open("w", encoding="utf-8") as file:
        for question, policy in pairs:
            outcome = await ask(engine, model, question, policy, limits)
            file.write(outcome.model_dump_json() + "\n")
            file.flush()
            outcomes.append(outcome)
            progress(outcome)
    return outcomes


async def ask(engine: Engine, model: str, question: Question, policy: Policy, limits: Mapping[str, int]) -> Outcome:
    """Ask one question under one policy and read its record."""
    request = AskInput(
        question=question.text, collection=f"{question.collection}-{embedder_of(policy)}", limits=dict(limits)
    )
    response = await engine.ask(request, RunContext(policy=policy.policy_version, model=model))
    state = await engine.state(response.run_id)
    evidence = {
        chunk["anchor"]: chunk["sanitized_text"] for chunk in (state.get("assembly") or {}).get("selected_evidence", ())
    }
    generation = state.get("generation") or {}
    return Outcome(
        policy=policy.policy_version,
        question_id=question.id,
        status=response.status,
        code=response.refusal_code or response.failure_code or "",
        answer=response.answer if response.status == "OK" else "",
        raw_text=generation.get("raw_model_text", ""),
        cited=tuple(evidence[citation.anchor] for citation in response.citations),
        seconds=round(generation.get("llm_latency_ms", 0) / 1000, 2),
        prompt_tokens=response.token_usage.prompt or 0,
        completion_tokens=response.token_usage.completion or 0,
    )
