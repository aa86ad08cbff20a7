"""R2 selection: chooses the evidence by a fixed sequence of rules (R2-S1 to R2-S8).

Each rule gets the remaining rows and drops some with a code. A row is dropped once; the rows that remain at the end are
admitted. Selection never reorders, because the rank belongs to the retriever (R1-6).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from sourcebound.contracts.evidence.additions import adds_information
from sourcebound.contracts.evidence.answer_bundle import RowOutcome, render_evidence
from sourcebound.contracts.policy.schema import SelectionPolicy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow
from sourcebound.contracts.text.sanitize import SanitizationMode, Sanitized, sanitize
from sourcebound.contracts.text.segments import sentence_ends
from sourcebound.contracts.text.tokens import token_cost, whole_tokens
from sourcebound.contracts.text.trigrams import NearDuplicateFilter
from sourcebound.contracts.versions import CONTRACTS

VERSION: Final = CONTRACTS["evidence"]
"""The version of the evidence contract in force."""
SECOND: Final = 2
"""The version whose cap leaves no room empty (R2-S5), and that keeps a near-duplicate which adds something (R2-S4)."""
CACHED_TEXTS: Final = 2048
"""The number of cached chunks, of one or two kilobytes each."""
BLANK_LINE_COST: Final = token_cost("\n\n")
LAST_ANCHOR: Final = "C99"
"""A placeholder for the token count of headers before anchors are assigned."""


@dataclass(frozen=True)
class Candidate:
    """A row during selection."""

    row: RetrievalRow
    text: str
    escaped_lines: int
    tokens: int
    kept_end: int | None = None
    control_tokens: int = 0


@dataclass(frozen=True)
class Selection:
    """The admitted candidates, and the outcome of every row by rank."""

    admitted: tuple[Candidate, ...]
    outcomes: dict[int, RowOutcome]


Rule = Callable[[list[Candidate]], Iterable[tuple[Candidate, RowOutcome]]]


def select(
    rows: tuple[RetrievalRow, ...], policy: SelectionPolicy, equipment_id: str | None, version: int = VERSION
) -> Selection:
    """Apply R2-S1 to R2-S7 and R2-V6.

    Args:
        rows: Checked rows.
        policy: The selection values of the run's policy.
        equipment_id: The equipment filter in force, if any.
        version: The number of the evidence contract (CP-10).

    Returns:
        The admitted candidates in final order and the outcome of every row by its rank.
    """
    ordered = sorted(rows, key=lambda row: (row.rank, row.chunk_id))
    remaining = [candidate_of(row, policy.sanitization_mode) for row in ordered]
    outcomes = {row.rank: RowOutcome.ADMITTED for row in ordered}

    def apply(rule: Rule) -> None:
        dropped = {candidate.row.rank: outcome for candidate, outcome in rule(remaining)}
        outcomes.update(dropped)
        remaining[:] = [candidate for candidate in remaining if candidate.row.rank not in dropped]

    apply(_drop_empty)
    apply(lambda left: _drop_filtered(left, equipment_id))
    apply(lambda left: _drop_below_floor(left, policy.min_similarity))
    apply(lambda left: _drop_duplicates(left, policy.overlap_ratio_threshold, version))
    if version < SECOND:
        apply(lambda left: _drop_over_cap(left, policy.max_chunks_per_knowledge_id))
    largest = int(policy.max_evidence_tokens * policy.max_chunk_token_ratio)
    if policy.trim_within_chunk:
        remaining[:] = [_trimmed(candidate, largest) for candidate in remaining]
    apply(lambda left: _drop_too_large(left, largest))
    if version >= SECOND:
        apply(lambda left: _drop_displacing(left, policy))
    apply(lambda left: _drop_over_budget(left, policy))
    return Selection(tuple(remaining), outcomes)


def block_tokens(row: RetrievalRow, text: str) -> int:
    """Estimate the tokens of a chunk in the prompt, with its header and the blank line after it."""
    return _with_header(row, token_cost(text))


def candidate_of(row: RetrievalRow, mode: SanitizationMode = "safe_normalize_v1") -> Candidate:
    """Make a candidate of a row: text as the mode sanitizes it, and its size in the prompt (R2-S2)."""
    clean, cost = _read_text(row.chunk_text, mode)
    size = _with_header(row, cost)
    return Candidate(row, clean.text, clean.escaped_lines, size, control_tokens=clean.control_tokens)


@lru_cache(CACHED_TEXTS)
def _read_text(text: str, mode: SanitizationMode) -> tuple[Sanitized, int]:
    """Sanitize a chunk's text and count its tokens; cached, because the same chunks are retrieved repeatedly."""
    clean = sanitize(text, mode)
    return clean, token_cost(clean.text)


def _with_header(row: RetrievalRow, cost: int) -> int:
    return whole_tokens(_header_cost(row.chunk_id, row.knowledge_id, row.source_reference) + cost)


@lru_cache(CACHED_TEXTS)
def _header_cost(chunk_id: str, knowledge_id: str, source_reference: str) -> int:
    """Count the tokens of a chunk's header and of the blank line after the chunk."""
    header = render_evidence(LAST_ANCHOR, chunk_id, knowledge_id, source_reference, "")
    return token_cost(header) + BLANK_LINE_COST


def _drop_empty(left: list[Candidate]) -> Iterable[tuple[Candidate, RowOutcome]]:
    return [(c, RowOutcome.DROP_EMPTY_AFTER_SANITIZE) for c in left if not c.text]


def _drop_filtered(left: list[Candidate], equipment_id: str | None) -> Iterable[tuple[Candidate, RowOutcome]]:
    if equipment_id is None:
        return []
    return [(c, RowOutcome.DROP_FILTER_MISMATCH) for c in left if c.row.equipment_id != equipment_id]


def _drop_below_floor(left: list[Candidate], floor: float) -> Iterable[tuple[Candidate, RowOutcome]]:
    return [(c, RowOutcome.DROP_BELOW_SIMILARITY_FLOOR) for c in left if c.row.similarity_score < floor]


def _drop_duplicates(left: list[Candidate], threshold: float, version: int) -> Iterable[tuple[Candidate, RowOutcome]]:
    distinct = NearDuplicateFilter(threshold, adds_information) if version >= SECOND else NearDuplicateFilter(threshold)
    return [(c, RowOutcome.DROP_DUP) for c in left if not distinct.add(c.text)]


def _drop_over_cap(left: list[Candidate], cap: int) -> Iterable[tuple[Candidate, RowOutcome]]:
    seen: Counter[str] = Counter()
    for candidate in left:
        seen[candidate.row.knowledge_id] += 1
        if seen[candidate.row.knowledge_id] > cap:
            yield candidate, RowOutcome.DROP_PER_KNOWLEDGE_CAP


def _drop_displacing(left: list[Candidate], policy: SelectionPolicy) -> Iterable[tuple[Candidate, RowOutcome]]:
    """Drop the rows over the cap that would displace a row of another document (R2-S5).

    The rows within the cap are served first. Where they leave room, the rows over the cap fill it by rank.
    """
    over_cap = {c.row.rank for c, _ in _drop_over_cap(left, policy.max_chunks_per_knowledge_id)}
    within = [c for c in left if c.row.rank not in over_cap]
    if len(within) > policy.max_chunks or sum(c.tokens for c in within) > policy.max_evidence_tokens:
        return [(c, RowOutcome.DROP_PER_KNOWLEDGE_CAP) for c in left if c.row.rank in over_cap]
    beyond = [c for c in left if c.row.rank in over_cap]
    return _drop_over_budget(beyond, policy, chunks=len(within), tokens=sum(c.tokens for c in within))


def _trimmed(candidate: Candidate, largest: int) -> Candidate:
    """Cut the candidate at the last sentence end that fits (R2-S6).

    It stays unchanged if it fits whole, or if no sentence fits.
    """
    if candidate.tokens <= largest:
        return candidate
    for end in reversed(sentence_ends(candidate.text)):
        text = candidate.text[:end]
        tokens = block_tokens(candidate.row, text)
        if tokens <= largest:
            return replace(candidate, text=text, tokens=tokens, kept_end=end)
    return candidate


def _drop_too_large(left: list[Candidate], largest: int) -> Iterable[tuple[Candidate, RowOutcome]]:
    return [(c, RowOutcome.DROP_CHUNK_RATIO) for c in left if c.tokens > largest]


def _drop_over_budget(
    left: list[Candidate], policy: SelectionPolicy, *, chunks: int = 0, tokens: int = 0
) -> Iterable[tuple[Candidate, RowOutcome]]:
    """Admit in order until the next row would exceed a limit; that row and all later ones are dropped (R2-S7).

    Args:
        left: The rows in order.
        policy: The limits.
        chunks: The number of chunks that are admitted already.
        tokens: Their tokens.
    """
    for index, candidate in enumerate(left):
        tokens += candidate.tokens
        if chunks + index >= policy.max_chunks:
            return [(c, RowOutcome.DROP_MAX_CHUNKS) for c in left[index:]]
        if tokens > policy.max_evidence_tokens:
            return [(c, RowOutcome.DROP_BUDGET) for c in left[index:]]
    return []
