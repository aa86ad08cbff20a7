"""The sections that ask nothing: the firewall on judged texts, sentence ends, and awkward files."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final

from sourcebound.contracts.calibration.gate_minima import Share
from sourcebound.contracts.text.segments import segment
from sourcebound.errors import DocumentError
from sourcebound.evals import grounding, honest, statements
from sourcebound.evals.external.measuring import Measuring, existing, ready
from sourcebound.evals.external.report import Section, figure_of_interval, figure_of_share
from sourcebound.evals.retrieval import MAX_BYTES, read_records
from sourcebound.ingest.sandbox.parser_pool import ParserPool
from sourcebound.settings import Settings

BOTH: Final = "both"
REFUSALS: Final = {
    "no_text": {"NO_TEXT"},
    "reject": {"UNREADABLE", "UNSUPPORTED", "EMPTY"},
    "reject_or_no_text": {"UNREADABLE", "NO_TEXT", "UNSUPPORTED", "EMPTY"},
    "reject_or_ask_password": {"UNREADABLE", "ENCRYPTED"},
}
"""The codes that fit the expectation of a manifest. Any other expectation is a text."""


async def measure_grounding(measuring: Measuring) -> None:
    """Measure how many unsupported and how many clean answers the firewall rejects."""
    folder = measuring.data / "grounding"
    openers = {
        read.__name__.removeprefix("_read_"): ready(partial(_read_items, read, folder)) for read in grounding.READERS
    }
    for _, items in measuring.each_set(Section.GROUNDING, openers):
        for name in dict.fromkeys(item.dataset for item in items):
            members = measuring.limited(item for item in items if item.dataset == name)
            rates = grounding.measure(members).get((name, "any"), _no_rejection(members))
            for metric, share in (
                ("unsupported rejected", Share(rates.caught, rates.unsupported)),
                ("clean rejected", Share(rates.wrongly_rejected, rates.clean)),
            ):
                measuring.figures.append(figure_of_share(Section.GROUNDING, name, metric, share))


def _read_items(read: Any, folder: Path) -> list[grounding.Item]:
    return list(read(folder))


def _no_rejection(items: list[grounding.Item]) -> grounding.Rates:
    bad = sum(item.unsupported for item in items)
    return grounding.Rates(0, bad, 0, len(items) - bad)


async def measure_statements(measuring: Measuring) -> None:
    """Measure how many supported and unsupported statements the firewall rejects, by set or by change."""
    most = min(measuring.most or grounding.MOST, grounding.MOST)
    openers = {"support": ready(partial(statements.load_cases, measuring.data / "support", None, most))}
    for _, cases in measuring.each_set(Section.STATEMENTS, openers):
        judged = list(statements.judge(cases))
        for group in sorted({item.case.group for item in judged}):
            for label in (False, True):
                members = [item for item in judged if item.case.group == group and item.case.supported is label]
                if members:
                    metric = "supported rejected" if label else "unsupported rejected"
                    interval = statements.rejected_share(members, statements.RULES[BOTH])
                    measuring.figures.append(
                        figure_of_interval(Section.STATEMENTS, group, metric, len(members), interval)
                    )


async def measure_honest(measuring: Measuring) -> None:
    """Measure how many honest and how many false replies the firewall releases."""
    openers = {"honest": ready(partial(honest.load_replies, measuring.data / "honest"))}
    for name, replies in measuring.each_set(Section.HONEST, openers):
        verdicts = honest.judge(measuring.limited(replies))
        for label in (honest.FAITHFUL, honest.UNFAITHFUL):
            members = [each for each in verdicts if each.reply.label == label]
            interval = honest.released_share(members)
            measuring.figures.append(
                figure_of_interval(Section.HONEST, name, f"{label} released", len(members), interval)
            )


async def measure_segmentation(measuring: Measuring) -> None:
    """Measure how many texts are split as their golden rule says."""
    folder = measuring.data / "segmentation"
    files = sorted(folder.glob("*.jsonl")) or [folder]
    openers = {file.stem: ready(partial(read_records, file)) for file in files}
    for name, rules in measuring.each_set(Section.SEGMENTATION, openers):
        kept = sum([part.text for part in segment(rule["text"])] == rule["sentences"] for rule in rules)
        measuring.figures.append(
            figure_of_share(Section.SEGMENTATION, name, "texts split as the rule", Share(kept, len(rules)))
        )


async def measure_ingestion(measuring: Measuring) -> None:
    """Measure how many files load or are refused as their manifest says, and how many of their texts are found."""
    folder = measuring.data / "documents/ingestion"
    openers: dict[str, Callable[[], AbstractContextManager[Path]]] = {
        "ingestion": partial(existing, folder / "manifest.jsonl")
    }
    settings = Settings()
    pool = ParserPool(settings.parse_seconds, settings.parse_memory_megabytes)
    try:
        for name, manifest in measuring.each_set(Section.INGESTION, openers):
            ends = [_read_file(pool, folder, record) for record in read_records(manifest)]
            files = Share(sum(fits for fits, _ in ends), len(ends))
            snippets = Share(sum(share.part for _, share in ends), sum(share.whole for _, share in ends))
            for metric, share in (("files as expected", files), ("texts on their page", snippets)):
                measuring.figures.append(figure_of_share(Section.INGESTION, name, metric, share))
    finally:
        pool.close()


def _read_file(pool: ParserPool, folder: Path, record: dict[str, Any]) -> tuple[bool, Share]:
    """Return whether a file ends as expected, and how many of its texts are on their pages."""
    codes, path = REFUSALS.get(record["expected"]), folder / record["file"]
    wanted = record["must_contain"]
    try:
        document = pool.parse(path, path.read_bytes(), MAX_BYTES)
    except (DocumentError, OSError) as error:
        code = error.failure_code if isinstance(error, DocumentError) else ""
        return codes is not None and code in codes, Share(0, len(wanted))
    pages = {page.number: _plain(page.text) for page in document.pages}
    whole = " ".join(pages.values())
    found = sum(_plain(each["text"]) in (pages.get(each["page"], "") if each.get("page") else whole) for each in wanted)
    unwanted = any(_plain(text) in whole for text in record["must_not_contain"])
    return codes is None and not unwanted, Share(found, len(wanted))


def _plain(text: str) -> str:
    return " ".join(text.split())
