"""Writes the prompts that a model would receive for questions about real documents, each with its evidence."""

import random
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import BuiltPrompt, Message, build_prompt
from sourcebound.contracts.request import unrecorded_run
from sourcebound.evals.external.sets.discovery import find_sets
from sourcebound.evals.external.sets.reading import COLLECTION_READERS, read_collections
from sourcebound.evals.external.sets.records import Reader
from sourcebound.evals.natural.questions import FOREIGN, LANGUAGES, read_questions
from sourcebound.evals.natural.sources import collect, collect_invented, read_corpus
from sourcebound.evals.retrieval import ingest, retrieve, temporary_services
from sourcebound.wiring import Services

EMBEDDER: Final = "minilm"
NATURAL: Final = "natural"
INVENTED: Final = {path.stem: path for path in (LANGUAGES, FOREIGN)}
"""The sets of invented documents, by name."""


class Asked(NamedTuple):
    """A question of a set."""

    id: str
    text: str
    part: str
    """`dev`, `held`, or empty where a set has no parts."""


class Prompted(BaseModel):
    """A question whose prompt was written: what `judge` needs."""

    model_config = ConfigDict(frozen=True)

    id: str
    part: str
    set: str
    policy: str
    bundle: AnswerBundle
    """The evidence that the prompt shows."""


def show(messages: Sequence[Message]) -> str:
    """Return the messages of a prompt as text, each under the name of its role."""
    return "\n\n".join(f"<<{message.role.upper()} MESSAGE>>\n{message.content}" for message in messages)


async def write_prompts(
    folder: Path, names: Sequence[str], data: Path, number: int, seed: int, part: str, policy: Policy
) -> dict[str, int]:
    """Ingest the documents of sets, retrieve for questions of them, and write a prompt for each.

    A question that ends before the model is left out, as no model is asked.

    Args:
        folder: A folder that exists. It receives `KEY.prompt.txt` and `KEY.question.json` for each question.
        names: `natural`, `languages`, `foreign`, or a collection of `data`.
        data: The folder of the external evaluation data.
        number: The questions of each set.
        seed: Chooses them.
        part: Only the questions of this part; empty for all.
        policy: The policy of the prompts.

    Returns:
        The number of prompts of each set.

    Raises:
        LookupError: There is no set of a name.
    """
    written = dict.fromkeys(names, 0)
    async with temporary_services() as services:
        for name in names:
            async for collection, questions in _open_sets(services, name, data):
                chosen = [each for each in questions if part in ("", each.part)]
                random.Random(seed).shuffle(chosen)
                for question in chosen:
                    if written[name] == number:
                        break
                    built = await _build(services, collection, question.text, policy)
                    if built:
                        asked = Prompted(
                            id=question.id,
                            part=question.part,
                            set=name,
                            policy=policy.policy_version,
                            bundle=built.bundle,
                        )
                        _write(folder / f"{name}-{written[name]:03d}", asked, built.prompt.messages)
                        written[name] += 1
    return written


async def _open_sets(services: Services, name: str, data: Path) -> AsyncIterator[tuple[str, list[Asked]]]:
    """Ingest a set and yield its collection with its questions; some sets have several."""
    with tempfile.TemporaryDirectory(prefix="sourcebound-replies-") as temporary:
        documents = Path(temporary) / "documents"
        if name in (NATURAL, *INVENTED):
            documents.mkdir()
            if name == NATURAL:
                collect(read_corpus(), documents, Path(), data)
            else:
                collect_invented(name, documents)
            await ingest(services, documents, name, EMBEDDER)
            questions = read_questions(INVENTED[name]) if name in INVENTED else read_questions()
            yield name, [Asked(each.id, each.question, each.part) for each in questions]
            return
        found = [each for each in find_sets(data).sets if each.shape in COLLECTION_READERS and each.name == name]
        if not found:
            raise LookupError(
                f"{data} has no set {name!r}; the sets of the project are natural, languages and foreign."
            )
        for collection in read_collections(found[0], Reader(data)):
            title = collection.name.replace("/", "-")
            await ingest(services, collection.write(documents / title), title, EMBEDDER)
            yield title, [Asked(each.id, each.text, "") for each in collection.questions if each.is_asked]


async def _build(services: Services, collection: str, question: str, policy: Policy) -> BuiltPrompt | None:
    """Return the prompt of a question; None if the run would end before the model."""
    found = await retrieve(services, question, collection, policy)
    run = unrecorded_run(question, collection, policy.policy_version, policy.sha256, "evaluation")
    built = build_prompt(assemble(found.to_json(), policy, run), policy)
    return built if built.prompt.outcome.status is Status.OK else None


def _write(stem: Path, asked: Prompted, messages: Sequence[Message]) -> None:
    stem.with_name(f"{stem.name}.question.json").write_text(asked.model_dump_json(), "utf-8")
    stem.with_name(f"{stem.name}.prompt.txt").write_text(show(messages), "utf-8")
