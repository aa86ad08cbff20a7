"""`sourcebound calibrate`: the choice of gate minima for a collection from labelled questions (P-3)."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sourcebound.cli.answering.request_options import COLLECTION_HELP
from sourcebound.cli.console import progress, run_async, say
from sourcebound.errors import ConfigurationError, RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.calibration.gate_minima import Point, QuestionSet, Share, Signals
    from sourcebound.contracts.calibration.labelled_questions import LabelledQuestion
    from sourcebound.contracts.corpus.collection import Collection
    from sourcebound.contracts.policy.schema import Policy
    from sourcebound.wiring import Services

SHOWN_FINDINGS = 5
SHOWN_QUESTIONS = 10


class Measurement(NamedTuple):
    """The gate's signals for each question of the file."""

    collection: "Collection"
    base: "Policy"
    questions: "tuple[LabelledQuestion, ...]"
    signals: "tuple[Signals, ...]"

    def sets(self) -> "tuple[QuestionSet, QuestionSet]":
        """Return the answerable questions, then the others."""
        from sourcebound.contracts.calibration.gate_minima import QuestionSet

        pairs = list(zip(self.questions, self.signals, strict=True))
        answerable = tuple(signals for question, signals in pairs if question.answerable)
        others = tuple(signals for question, signals in pairs if not question.answerable)
        return QuestionSet("answerable", True, answerable), QuestionSet("other", False, others)


class Result(NamedTuple):
    """The chosen minima with their error shares; answerable questions come first."""

    measured: Measurement
    curve: "list[Point]"
    chosen: "Point"
    error_shares: "tuple[Share, Share]"
    """The error shares on all questions."""
    held_out: "tuple[Share, Share]"
    """The error shares on questions that were not used for the choice."""
    limit: float
    """The largest allowed share of false refusals."""


def calibrate(
    questions: Annotated[
        Path, typer.Option(help='JSON Lines: {"question": "…", "answerable": true}, ten or more of each kind.')
    ],
    collection: Annotated[str | None, typer.Option(help=COLLECTION_HELP)] = None,
    policy: Annotated[str | None, typer.Option(help="The policy to start from.")] = None,
    most_refused: Annotated[
        float, typer.Option(min=0, max=1, help="The largest share of the answerable questions that may be refused.")
    ] = 0.02,
    output: Annotated[
        Path | None, typer.Option(help="Write the proposed policy to this new file; needs --name.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the proposed policy: MY_POLICY_V1.")] = None,
    pin: Annotated[
        bool,
        typer.Option("--pin", help="Pin the policy to the current index; it stops applying when the documents change."),
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the trade-off into this new SVG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the result, as JSON.")] = False,
) -> None:
    """Find gate minima for your collection, from questions that its documents answer and questions that they do not.

    The chosen pair refuses the most unanswerable questions while it refuses at most --most-refused of the answerable
    ones. No model is called.
    """
    _check_new_files(output, name, plot)
    labelled = read_labelled_questions(questions)
    measured = run_async(lambda: _measure(labelled, collection, policy), interrupted="Nothing was written.")
    result = _judge(measured, most_refused)
    proposed = _proposal(result, output, name, pinned=pin)
    if plot:
        _write(plot, _draw(result))
    if as_json:
        print(json.dumps(_as_json(result, proposed, output, plot), ensure_ascii=False, indent=2))
    else:
        _render(result)
        _say_next(output, plot)


def _check_new_files(output: Path | None, name: str | None, plot: Path | None) -> None:
    """Check the output files before the search."""
    from sourcebound.cli.policy import check_new_file, check_new_name

    if (output is None) != (name is None):
        raise RequestError(
            "--output and --name must be given together.", "Try: --name MY_POLICY_V1 --output MY_POLICY_V1.toml"
        )
    if name is not None and output is not None:
        check_new_name(name, output.parent)
    for path in (output, plot):
        if path is not None:
            check_new_file(path)


def read_labelled_questions(path: Path) -> "tuple[LabelledQuestion, ...]":
    """Read the questions of a JSON Lines file; the error names the invalid lines."""
    from sourcebound.contracts.calibration.labelled_questions import read_questions

    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise RequestError(
            f"{path} cannot be read: {error.strerror}.", "Check the path.", code="PATH_MISSING"
        ) from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8.", "Save it as UTF-8.", code="INVALID_QUESTIONS") from error
    found = read_questions(text)
    if found.findings:
        more = len(found.findings) - SHOWN_FINDINGS
        shown = "; ".join(found.findings[:SHOWN_FINDINGS]) + (f"; and {more} more" if more > 0 else "")
        raise RequestError(
            f"{path} has invalid lines: {shown}.",
            'Give one object in each line: {"question": "How often …?", "answerable": true}',
            code="INVALID_QUESTIONS",
        )
    return found.questions


async def _measure(labelled: "tuple[LabelledQuestion, ...]", name: str | None, policy_name: str | None) -> Measurement:
    from sourcebound.settings import get_settings
    from sourcebound.wiring import find_policy, open_services

    settings = get_settings()
    name = name or settings.collection
    async with open_services(settings) as services:
        collection = await services.index.find_collection(name)
        if collection is None or not collection.chunks:
            state = "there is no collection" if collection is None else "there are no documents in the collection"
            raise ConfigurationError(
                f"{state} {name!r}.", f"Run `sourcebound ingest PATH --collection {name}`.", code="COLLECTION_NOT_FOUND"
            )
        base_name, model = policy_name or settings.policy, collection.embedding_model
        base = find_policy(base_name, embedding_model=model, folder=settings.policies)
        return Measurement(collection, base, labelled, await ask_all(services, labelled, collection, base))


async def ask_all(
    services: "Services", labelled: "tuple[LabelledQuestion, ...]", collection: "Collection", policy: "Policy"
) -> "tuple[Signals, ...]":
    """Retrieve for each question under the policy; nothing is answered or recorded."""
    from sourcebound.contracts.calibration.gate_minima import read_signals
    from sourcebound.contracts.request import unrecorded_run

    signals: list[Signals] = []
    with progress("questions", len(labelled)) as report:
        for each in labelled:
            text = each.question.replace("\0", "")
            run = unrecorded_run(text, collection.name, policy.policy_version, policy.sha256, "calibration")
            signals.append(read_signals(await services.retriever.retrieve(run, policy), policy.retrieval))
            report(len(signals))
    return tuple(signals)


def _judge(measured: Measurement, most_refused: float) -> Result:
    from sourcebound.contracts.calibration.gate_minima import cross_validate, keep_or_choose, pareto_front, sweep

    sets, gate = measured.sets(), measured.base.retrieval
    current = gate.min_top_similarity, gate.min_question_coverage or 0.0
    chosen = keep_or_choose(sets, current, most_refused)
    refused, passed = cross_validate(sets, most_refused, current)
    error_shares = chosen.refused[0], chosen.refused[1].rest
    curve, held_out = pareto_front(sets, sweep(sets)), (refused, passed.rest)
    return Result(measured, curve, chosen, error_shares, held_out, most_refused)


def _proposal(result: Result, output: Path | None, name: str | None, *, pinned: bool) -> "Policy | None":
    """Return the proposed policy, and write it if a file was named."""
    if output is None or name is None:
        return None
    from sourcebound.contracts.calibration.proposed_policy import propose_policy, render_policy

    collection = result.measured.collection
    proposed = propose_policy(result.measured.base, name, result.chosen, collection, pinned=pinned)
    remarks = [
        f"Written by `sourcebound calibrate` from {len(result.measured.questions)} questions on the collection "
        f"{collection.name}, index {collection.index_version}.",
        f"False refusals {_rate(result.error_shares[0])}.",
        f"False passes {_rate(result.error_shares[1])}.",
    ]
    _write(output, render_policy(proposed, remarks))
    return proposed


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.", "Name another file.") from error


def _draw(result: Result) -> str:
    from sourcebound.cli.corpus.plot import Interval, Mark, draw_trade_off
    from sourcebound.contracts.calibration.gate_minima import sweep, wilson_interval

    def mark(point: "Point") -> Mark:
        return Mark(point.refused[0].value, point.refused[1].rest.value)

    points = [mark(point) for point in sweep(result.measured.sets())]
    interval = Interval(wilson_interval(result.error_shares[0]), wilson_interval(result.error_shares[1]))
    title = f"The gate on the collection {result.measured.collection.name}"
    return draw_trade_off(
        title, points, [mark(point) for point in result.curve], mark(result.chosen), interval, result.limit
    )


def _render(result: Result) -> None:
    """Print the trade-off, the choice, its errors and the questions that it gets wrong."""
    base, chosen = result.measured.base, result.chosen
    print("similarity  coverage  false refusals        false passes")
    rows = {point.refused: point for point in [*result.curve, chosen]}
    for _, point in sorted(rows.items()):
        refusals, passes = _count(point.refused[0]), _count(point.refused[1].rest)
        mark = "  <- chosen" if point == chosen else ""
        print(f"{point.min_similarity:10.2f}  {point.min_coverage:8.2f}  {refusals:20}  {passes:18}{mark}".rstrip())
    similarity, coverage = base.retrieval.min_top_similarity, base.retrieval.min_question_coverage or 0.0
    print(
        f"\nChosen: min_top_similarity = {chosen.min_similarity:.2f}, min_question_coverage = {chosen.min_coverage:.2f}"
        f" ({base.policy_version} has {similarity:.2f} and {coverage:.2f})."
    )
    for kind, share, held_out in zip(
        ("False refusals", "False passes"), result.error_shares, result.held_out, strict=True
    ):
        print(f"{kind}: {_rate(share)}; on held-out questions: {_percent(held_out.value)}.")
    if result.error_shares[0].value > result.limit:
        say(f"No pair refuses at most {_percent(result.limit)} of the answerable questions. This one is the closest.")
    _render_wrong(result)


def _render_wrong(result: Result) -> None:
    wrong = _wrong_questions(result)
    for answerable, heading in ((True, "Answerable, but refused:"), (False, "Not answerable, but passed:")):
        found = [each for each in wrong if each["answerable"] is answerable]
        if found:
            print(f"\n{heading}")
        for each in found[:SHOWN_QUESTIONS]:
            print(f"  similarity {each['similarity']:.2f}, coverage {each['coverage']:.2f}: {each['question']}")
        if len(found) > SHOWN_QUESTIONS:
            print(f"  … and {len(found) - SHOWN_QUESTIONS} more; --json lists all.")


def _wrong_questions(result: Result) -> list[dict[str, Any]]:
    from sourcebound.contracts.calibration.gate_minima import refused

    chosen, measured = result.chosen, result.measured
    return [
        {**question.model_dump(), "similarity": signals.similarity, "coverage": signals.coverage}
        for question, signals in zip(measured.questions, measured.signals, strict=True)
        if bool(refused([signals], chosen.min_similarity, chosen.min_coverage).part) is question.answerable
    ]


def _say_next(output: Path | None, plot: Path | None) -> None:
    if plot:
        say(f"The plot is in {plot}.")
    if output:
        say(f'Next: sourcebound ask "…" --policy {output}; then sourcebound policy release {output}')
    else:
        say("Next: add --name MY_POLICY_V1 --output MY_POLICY_V1.toml to write a policy with these minima.")


def _as_json(result: Result, proposed: "Policy | None", output: Path | None, plot: Path | None) -> dict[str, Any]:
    collection, base = result.measured.collection, result.measured.base
    rates = zip(("false_refusals", "false_passes"), result.error_shares, result.held_out, strict=True)
    return {
        "collection": collection.name,
        "index_version": collection.index_version,
        "embedding_model": collection.embedding_model,
        "base_policy": base.policy_version,
        "chosen": _minima(result.chosen),
        **{kind: share_json(share) | {"share_not_chosen_on": held_out.value} for kind, share, held_out in rates},
        "most_refused": result.limit,
        "within_limit": result.error_shares[0].value <= result.limit,
        "trade_off": [
            _minima(point)
            | {"false_refusals": share_json(point.refused[0]), "false_passes": share_json(point.refused[1].rest)}
            for point in result.curve
        ],
        "wrong": _wrong_questions(result),
        "policy": proposed
        and {"policy_version": proposed.policy_version, "sha256": proposed.sha256, "file": str(output)},
        "plot": plot and str(plot),
    }


def _minima(point: "Point") -> dict[str, float]:
    return {"min_top_similarity": point.min_similarity, "min_question_coverage": point.min_coverage}


def share_json(share: "Share") -> dict[str, float]:
    """Return a share with its 95 % interval."""
    from sourcebound.contracts.calibration.gate_minima import wilson_interval

    low, high = wilson_interval(share)
    return {"count": share.part, "of": share.whole, "share": share.value, "low_95": low, "high_95": high}


def _rate(share: "Share") -> str:
    from sourcebound.contracts.calibration.gate_minima import wilson_interval

    low, high = wilson_interval(share)
    return f"{_count(share)}, 95 % interval {_percent(low)} to {_percent(high)}"


def _count(share: "Share") -> str:
    return f"{_percent(share.value)} ({share.part} of {share.whole})"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
