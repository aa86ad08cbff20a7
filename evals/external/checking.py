"""The sections that ask nothing: the firewall on judged texts, sentence ends, and awkward files."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from sourcebound.contracts.calibration.gate_minima import Share
from sourcebound.contracts.text.segments import segment
from sourcebound.errors import DocumentError
from sourcebound.evals import grounding, honest, statements
from sourcebound.evals.external.report import ExternalFigure, Section, figure_of_interval, figure_of_share
from sourcebound.evals.external.sets import records
from sourcebound.evals.external.sets.discovery import FoundSet
from sourcebound.evals.external.sets.records import Reader, find
from sourcebound.evals.retrieval import MAX_BYTES
from sourcebound.ingest.sandbox.parser_pool import ParserPool
from sourcebound.settings import Settings

BOTH: Final = "both"
UNSUPPORTED: Final = frozenset({"unwanted", "questionable"})
REFUTES: Final = "REFUTES"
REFUSALS: Final = {
    "no_text": {"NO_TEXT"},
    "reject": {"UNREADABLE", "UNSUPPORTED", "EMPTY"},
    "reject_or_no_text": {"UNREADABLE", "NO_TEXT", "UNSUPPORTED", "EMPTY"},
    "reject_or_ask_password": {"UNREADABLE", "ENCRYPTED"},
}
"""The codes that fit the expectation of a manifest. Any other expectation is a text."""


def measure_grounding(found: FoundSet, reader: Reader, most: int | None) -> list[ExternalFigure]:
    """Measure how many unsupported and how many clean answers the firewall rejects."""
    figures = []
    items = GROUNDING_READERS[found.shape](found, reader)
    for name in dict.fromkeys(item.dataset for item in items):
        members = list(islice((item for item in items if item.dataset == name), most))
        rates = grounding.measure(members).get((name, "any"), _no_rejection(members))
        for metric, share in (
            ("unsupported rejected", Share(rates.caught, rates.unsupported)),
            ("clean rejected", Share(rates.wrongly_rejected, rates.clean)),
        ):
            if share.whole:
                figures.append(figure_of_share(Section.GROUNDING, name, metric, share))
    return figures


def _read_responses(found: FoundSet, reader: Reader) -> list[grounding.Item]:
    """The prompts of such tasks number the passages, and the responses mention "passage 2", so sources have numbers."""
    sources = {each.source_id: each for each in reader.read(found.files["sources"], records.Source)}
    items = []
    for each in reader.read(found.files["responses"], records.Response):
        source = find(sources, each.source_id, partial(_place, reader, found.files["responses"], each.id))
        texts = tuple(f"passage {number}:\n{text}" for number, text in enumerate(source.passages, start=1))
        name = f"{found.name} {source.task}"
        items.append(
            grounding.Item(each.id, name, each.response, texts, each.hallucinated, question=source.question or "")
        )
    return items


def _read_summaries(found: FoundSet, reader: Reader) -> list[grounding.Item]:
    return [
        grounding.Item(each.id, found.name, each.response, (each.source,), each.worst_label in UNSUPPORTED)
        for each in reader.read(found.files["items"], records.Summary)
    ]


def _read_attributed(found: FoundSet, reader: Reader) -> list[grounding.Item]:
    return [
        grounding.Item(each.id, found.name, each.claim, each.references, not each.attributable)
        for each in reader.read(found.files["items"], records.AttributedClaim)
    ]


def _read_claims(found: FoundSet, reader: Reader) -> list[grounding.Item]:
    return [
        grounding.Item(each.id, found.name, each.claim, (each.evidence,), each.label == REFUTES)
        for each in reader.read(found.files["items"], records.EvidenceClaim)
    ]


GROUNDING_READERS: Final[Mapping[str, Callable[[FoundSet, Reader], list[grounding.Item]]]] = {
    "responses": _read_responses,
    "summaries": _read_summaries,
    "attributed": _read_attributed,
    "claims": _read_claims,
}


def _no_rejection(items: list[grounding.Item]) -> grounding.Rates:
    bad = sum(item.unsupported for item in items)
    return grounding.Rates(0, bad, 0, len(items) - bad)


def measure_statements(found: FoundSet, reader: Reader, most: int | None) -> list[ExternalFigure]:
    """Measure how many supported and unsupported statements the firewall rejects, by set or by change."""
    texts = {each.id: each.texts for each in reader.read(found.files["evidence"], records.Texts)}
    rows: list[records.Labelled] = [
        *reader.read(found.files["statements"], records.Statement),
        *reader.read(found.files["answers"], records.LabelledAnswer),
    ]
    for each in rows:
        find(texts, each.evidence_id, partial(_place, reader, found.folder, each.id))
    chosen = min(most or grounding.MOST, grounding.MOST)
    judged = list(statements.judge(statements.choose_cases((each.model_dump() for each in rows), texts, None, chosen)))
    figures = []
    for group in sorted({item.case.group for item in judged}):
        for label in (False, True):
            members = [item for item in judged if item.case.group == group and item.case.supported is label]
            if members:
                metric = "supported rejected" if label else "unsupported rejected"
                interval = statements.rejected_share(members, statements.RULES[BOTH])
                figures.append(figure_of_interval(Section.STATEMENTS, group, metric, len(members), interval))
    return figures


def measure_honest(found: FoundSet, reader: Reader, most: int | None) -> list[ExternalFigure]:
    """Measure how many honest and how many false replies the firewall releases."""
    evidence = {each.id: each for each in reader.read(found.files["evidence"], records.HonestEvidence)}
    replies = []
    for each in islice(reader.read(found.files["replies"], records.HonestReply), most):
        bundle = find(evidence, each.bundle, partial(_place, reader, found.files["replies"], each.id))
        replies.append(honest.join_reply(each.model_dump(), bundle.model_dump()))
    verdicts = honest.judge(replies)
    figures = []
    for label in (honest.FAITHFUL, honest.UNFAITHFUL):
        members = [each for each in verdicts if each.reply.label == label]
        interval = honest.released_share(members)
        if members:
            figures.append(figure_of_interval(Section.HONEST, found.name, f"{label} released", len(members), interval))
    return figures


def measure_segmentation(found: FoundSet, reader: Reader, most: int | None) -> list[ExternalFigure]:
    """Measure how many texts are split as their golden rule says."""
    rules = reader.read(found.files["items"], records.Rule)[:most]
    kept = sum(tuple(part.text for part in segment(rule.text)) == rule.sentences for rule in rules)
    return [figure_of_share(Section.SEGMENTATION, found.name, "texts split as the rule", Share(kept, len(rules)))]


def measure_ingestion(found: FoundSet, reader: Reader, most: int | None) -> list[ExternalFigure]:
    """Measure how many files load or are refused as their manifest says, and how many of their texts are found."""
    manifest = reader.read(found.files["items"], records.AwkwardFile)[:most]
    settings = Settings()
    pool = ParserPool(settings.parse_seconds, settings.parse_memory_megabytes)
    try:
        ends = [_read_file(pool, found.folder, each) for each in manifest]
    finally:
        pool.close()
    files = Share(sum(fits for fits, _ in ends), len(ends))
    snippets = Share(sum(share.part for _, share in ends), sum(share.whole for _, share in ends))
    return [
        figure_of_share(Section.INGESTION, found.name, metric, share)
        for metric, share in (("files as expected", files), ("texts on their page", snippets))
        if share.whole
    ]


def _read_file(pool: ParserPool, folder: Path, record: records.AwkwardFile) -> tuple[bool, Share]:
    """Return whether a file ends as expected, and how many of its texts are on their pages.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    codes, path = REFUSALS.get(record.expected), folder / record.file
    content = path.read_bytes()
    try:
        document = pool.parse(path, content, MAX_BYTES)
    except DocumentError as error:
        return codes is not None and error.failure_code in codes, Share(0, len(record.must_contain))
    pages = {page.number: _plain(page.text) for page in document.pages}
    whole = " ".join(pages.values())
    found = sum(_plain(each.text) in (pages.get(each.page, "") if each.page else whole) for each in record.must_contain)
    unwanted = any(_plain(text) in whole for text in record.must_not_contain)
    return codes is None and not unwanted, Share(found, len(record.must_contain))


def read_texts(found: FoundSet, reader: Reader) -> list[str]:
    """Read the first text of each evidence of labelled statements, as further texts of broad collections."""
    return [each.texts[0] for each in reader.read(found.files["evidence"], records.Texts) if each.texts]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _place(reader: Reader, path: Path, key: str) -> str:
    return f"{reader.name(path)}: {key}"


Measure = Callable[[FoundSet, Reader, int | None], list[ExternalFigure]]
CHECKS: Final[Mapping[str, tuple[Section, Measure]]] = {
    **dict.fromkeys(GROUNDING_READERS, (Section.GROUNDING, measure_grounding)),
    "statements": (Section.STATEMENTS, measure_statements),
    "honest": (Section.HONEST, measure_honest),
    "segmentation": (Section.SEGMENTATION, measure_segmentation),
    "ingestion": (Section.INGESTION, measure_ingestion),
}
"""The section and the measurement of each shape."""
