"""Asks the items of a golden set through the whole graph, several at once, and keeps each result when it is known."""

from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import Outcome
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.errors import RequestError
from sourcebound.evals.golden.corpus import GoldenSet, collection_of, open_collections
from sourcebound.evals.golden.frozen import replay_frozen
from sourcebound.evals.golden.items import FrozenRun, GoldenItem
from sourcebound.evals.golden.judging import Observed, judge
from sourcebound.evals.golden.model_judge import Judge, open_judge
from sourcebound.evals.golden.results import (
    Circumstances,
    ItemResult,
    ResultFolder,
    find_commit,
    in_order,
    write_summary,
)
from sourcebound.evals.golden.summary import Summary, summarize
from sourcebound.graph.batch.ordered import map_ordered
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services, find_policy

NO_COLLECTION = "none"


class Options(NamedTuple):
    """The choices of an evaluation."""

    output: Path
    collection: str
    documents: tuple[Path, ...] = ()
    policy: str | None = None
    model: str | None = None
    at_once: int = 4
    again: bool = False
    judge: str | None = None
    """A model that judges released answers too."""


async def run_evaluation(
    services: Services, golden: GoldenSet, options: Options, report: Callable[[int, int], None] = lambda *_: None
) -> Summary:
    """Ask every item of a set and write the results.

    Args:
        services: The services.
        golden: The set.
        options: The choices.
        report: Receives the number of items done and of all items.

    Returns:
        The summary.

    Raises:
        SourceboundError: The set does not fit the collection, the folder holds other results, or a run could not be
            recorded.
    """
    collections = await open_collections(services, golden, options.collection, options.documents)
    asking = _Asking(services, options, collections)
    await asking.open_judge()
    folder = ResultFolder(options.output)
    circumstances = asking.circumstances(golden)
    done = folder.begin(circumstances, again=options.again)
    ids = {result.item for result in done}
    open_items = [item for item in golden.items if item.id not in ids]
    report(len(done), len(golden.items))
    async with aclosing(map_ordered(open_items, asking.ask, options.at_once)) as results:
        async for result in results:
            folder.append(result)
            done.append(result)
            report(len(done), len(golden.items))
    ordered = in_order(done, [item.id for item in golden.items])
    summary = summarize(folder.circumstances(), ordered, _now())
    write_summary(options.output, summary.model_dump_json(indent=2) + "\n")
    return summary


class _Asking:
    """Asks one item at a time.

    Args:
        services: The services.
        options: The choices.
        collections: The collections of the set, by name.
    """

    def __init__(self, services: Services, options: Options, collections: dict[str, Collection]) -> None:
        self._services, self._options, self._collections = services, options, collections
        self._engine = Engine(services)
        self._model = options.model or services.settings.model
        self._embedding_model = next((each.embedding_model for each in collections.values()), NO_COLLECTION)
        self._named = options.policy or services.settings.policy
        self._policy = self._find_policy(self._named, self._embedding_model)
        self._judge: Judge | None = None

    def circumstances(self, golden: GoldenSet) -> Circumstances:
        """Return the circumstances of the evaluation of a set."""
        return Circumstances(
            set_name=golden.path.name,
            set_sha256=golden.sha256,
            items=len(golden.items),
            policy_version=self._policy.policy_version,
            policy_sha256=self._policy.sha256,
            model=self._model,
            embedding_model=self._embedding_model,
            index_versions={name: each.index_version for name, each in sorted(self._collections.items())},
            versions=THIS_VERSION,
            commit=find_commit(),
            judge=self._options.judge,
            started_at=_now(),
        )

    async def open_judge(self) -> None:
        """Open the model that judges released answers, if one was asked for.

        Raises:
            SourceboundError: It does not exist, or cannot judge.
        """
        if self._options.judge:
            self._judge = await open_judge(self._services.models, self._options.judge, self._policy)

    async def ask(self, item: GoldenItem) -> ItemResult:
        """Ask an item and judge its end."""
        seen = await self._observe(item)
        verdict = await self._judge.verdict(seen) if self._judge else None
        return judge(item, seen).model_copy(update={"model_verdict": verdict})

    async def _observe(self, item: GoldenItem) -> Observed:
        if item.frozen is None:
            return await self._run(item)
        return await replay_frozen(item, self._policy_of(item.frozen), self._write)

    async def _run(self, item: GoldenItem) -> Observed:
        collection = collection_of(self._options.collection, item)
        filters = item.filters.model_dump(mode="json", exclude_none=True)
        request = AskInput(collection=collection, filters=filters)
        context = RunContext(policy=self._options.policy, model=self._options.model)
        if item.history:
            request["conversation_id"] = await self._engine.start_conversation()
        for question in item.history:
            await self._engine.ask({**request, "question": question}, context)
        response = await self._engine.ask({**request, "question": item.question}, context)
        state = await self._engine.state(response.run_id)
        nodes = await self._engine.trace(response.run_id)
        retrieval, assembly, validation = (state.get(name) for name in ("retrieval", "assembly", "validation"))
        return Observed(
            run_id=response.run_id,
            outcome=Outcome.model_validate(state["outcome"]),
            retrieval=RetrievalBundle.model_validate(retrieval) if retrieval else None,
            assembly=AnswerBundle.model_validate(assembly) if assembly else None,
            validation=ValidationResult.model_validate(validation) if validation else None,
            latency_ms=response.latency_ms,
            nodes={each.node: round(each.milliseconds, 1) for each in nodes},
        )

    async def _write(self, prompt: Prompt, policy: Policy) -> str:
        model = await self._services.models.open(self._model)
        return (await model.generate(prompt, policy)).raw_model_text

    def _policy_of(self, frozen: FrozenRun) -> Policy:
        """Return the policy that was asked for; that of the run if none was, or if the reply has another form."""
        if self._named is not None and frozen.reply is None:
            return self._policy
        recorded = self._find_policy(frozen.policy, self._embedding_model)
        is_same_form = recorded.prompt.output_profile == self._policy.prompt.output_profile
        return self._policy if self._named is not None and is_same_form else recorded

    def _find_policy(self, name: str | None, embedding_model: str) -> Policy:
        model = None if embedding_model == NO_COLLECTION else embedding_model
        return find_policy(name, embedding_model=model, folder=self._services.settings.policies)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_output(path: Path) -> None:
    """Check that a folder can hold an evaluation.

    Raises:
        RequestError: The path is a file.
    """
    if path.exists() and not path.is_dir():
        raise RequestError(f"{path} is not a folder.", "Name a folder with --output.")
