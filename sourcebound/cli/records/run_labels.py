"""The labels and values of a run's page, the same on a terminal, in a pipe and in a browser."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sourcebound.contracts.outcome import Violation
    from sourcebound.contracts.run_page.attempts import AttemptView, StatementView
    from sourcebound.contracts.run_page.page import RecordPlace, RunPage, Source
    from sourcebound.contracts.run_page.search_report import SearchReport
    from sourcebound.contracts.validation.result import ValidationResult

NOT_RECORDED = "(the question was not recorded)"


class Fact(NamedTuple):
    """A label and its value."""

    label: str
    value: str


def question(page: "RunPage") -> str:
    """Return the question, or a note that it is missing."""
    if page.question is None:
        return "(the text of this run was erased)" if page.head.erased_at else NOT_RECORDED
    return page.question


def verdict(page: "RunPage") -> list[str]:
    """Explain how the run ended, and why parts of its record are missing."""
    head, outcome = page.head, page.outcome
    lines = [page.explanation] if page.explanation else []
    if head.status == "RUNNING":
        lines.append(f"The run has not ended. If it was interrupted: sourcebound runs resume {head.run_id}")
    elif head.status == "REPLACED":
        lines.append("Another run began on its thread before it ended.")
    elif head.status == "CANCELLED":
        lines.append("It was cancelled before it ended. Nothing was released.")
    elif outcome and outcome.message:
        lines.append(f"{outcome.stage}: {outcome.message}")
    if head.erased_at:
        lines.append(f"Its texts and checkpoints were erased on {head.erased_at:%Y-%m-%d}; its audit record stays.")
    elif head.pruned_at:
        lines.append(f"Its checkpoints were pruned on {head.pruned_at:%Y-%m-%d}; its audit record stays.")
    return lines


def broken_rules(page: "RunPage") -> "tuple[Violation, ...]":
    """Return the violations of the request or of a bundle, which belong to no answer."""
    return page.outcome.violations if page.outcome and page.outcome.stage != "validate" else ()


def identity(page: "RunPage") -> list[Fact]:
    """Return the ids, times, filters, policy and model of a run."""
    head, run, search = page.head, page.run, page.search
    filters = run.filters.given() if run else {}
    return _facts(
        run=head.run_id,
        request=head.request_id,
        thread=head.thread_id if head.thread_id != head.run_id else None,
        started=f"{head.started_at:%Y-%m-%d %H:%M:%S %Z}",
        took=_took(page),
        collection=head.collection,
        caller_labels=None if head.caller_labels is None else " ".join(head.caller_labels) or "none",
        entry="an external retrieval bundle" if run and run.entry == "bundle" else None,
        filters=", ".join(f"{name}={value}" for name, value in filters.items()) or None,
        limits=", ".join(f"{name}={value}" for name, value in page.limits.items()) or None,
        policy=head.policy_version + (", a draft" if run and run.is_draft else ""),
        policy_sha256=run.policy_sha256 if run else None,
        index=search.index_version if search else None,
        embedder=search.embedding_model if search else None,
        model=head.model,
    )


def gate(search: "SearchReport") -> list[Fact]:
    """Return the search queries, the measures of the gate and the notices."""
    reading = search.gate
    facts = [Fact("searched for", text) for text in search.query_variants or (search.question,)]
    facts += _facts(
        similarity=_against(reading.top_similarity, reading.min_top_similarity),
        coverage=_against(reading.question_coverage, reading.min_question_coverage),
        fallback="the second, lower minimum was used" if search.fallback_used else None,
        shortfall=f"{search.retrieval_shortfall} fewer rows than requested" if search.retrieval_shortfall else None,
        retrieved_in=milliseconds(search.retrieval_latency_ms),
    )
    return facts + [Fact("notice", notice) for notice in search.notices]


def budget(page: "RunPage") -> list[Fact]:
    """Return the use of the evidence budget."""
    metrics, policy = page.metrics, page.policy
    if metrics is None or policy is None:
        return []
    limits = policy.selection
    drops = ", ".join(f"{count} {code}" for code, count in metrics.drop_counts.items())
    return _facts(
        chunks=f"{metrics.selected_k} of {metrics.retrieved_k} candidates, {limits.max_chunks} allowed",
        tokens=f"{metrics.evidence_tokens} of {limits.max_evidence_tokens} allowed",
        dropped=drops or None,
        cut="a chunk was cut to fit" if metrics.truncation_applied else None,
        escaped=f"{metrics.structure_escaped_count} lines that looked like prompt structure"
        if metrics.structure_escaped_count
        else None,
        broken=f"{metrics.control_token_count} chat-control tokens" if metrics.control_token_count else None,
    )


def place(source: "Source") -> str:
    """Return the place of a source: reference, page, section, equipment and date."""
    chunk = source.chunk
    parts = (
        chunk.source_reference or chunk.knowledge_id,
        chunk.page_number is not None and _page_number(chunk.source_reference, chunk.page_number),
        source.section,
        chunk.equipment_id,
        chunk.event_date and chunk.event_date.isoformat(),
    )
    return " · ".join(str(part) for part in parts if part)


def _page_number(reference: str | None, number: int) -> str:
    """Return the page number unless the reference ends with it."""
    page = f"p. {number}"
    return "" if (reference or "").endswith(page) else page


def selection(page: "RunPage") -> list[Fact]:
    """Return the filter of the facts phase, its yield and, for a model filter, the call."""
    if page.facts is None:
        return []
    rules, choice = page.policy.facts if page.policy else None, page.facts.choice
    overlap = rules.min_question_overlap if rules else None
    return [
        *_facts(
            filter=rules.filter if rules else None,
            overlap=f"{overlap:.2f} of the question's words needed" if overlap is not None else None,
            kept=f"{page.facts.admitted_count} of {len(page.facts.facts)}",
        ),
        *(prompt(page, choice) + call(choice) if choice else []),
    ]


def prompt(page: "RunPage", attempt: "AttemptView") -> list[Fact]:
    """Return the hash, templates and size of the prompt."""
    shown, limits = attempt.prompt, page.policy and page.policy.prompt
    allowed = f" of {limits.max_total_prompt_tokens - limits.reserved_output_tokens} allowed" if limits else ""
    return _facts(
        prompt_sha256=shown.prompt_sha256,
        template=" + ".join(name for name in (shown.template, shown.repair_template) if name),
        prompt_tokens=f"about {shown.tokens}{allowed} ({shown.characters} characters)",
    )


def call(attempt: "AttemptView") -> list[Fact]:
    """The model, what it was asked with and what it took."""
    made = attempt.generation
    if made is None:
        return [Fact("model", "was not called")]
    tokens = (made.prompt_tokens_actual, made.completion_tokens_actual, made.total_tokens_actual)
    counted = "{} in, {} out, {} in all".format(*(number(count) for count in tokens))
    parameters = made.call.model_dump(mode="json", exclude_none=True) if made.call else {}
    return _facts(
        model=made.model_name,
        provider=made.provider,
        response=made.response_id,
        finish=made.finish_reason,
        tries=str(made.attempts),
        latency=milliseconds(made.llm_latency_ms),
        tokens=None if tokens == (None, None, None) else counted,
        parameters=", ".join(f"{name}={value}" for name, value in parameters.items()) or None,
        failure=f"{made.outcome.failure_code}: {made.outcome.message}" if made.outcome.failure_code else None,
    )


def checks(page: "RunPage", attempt: "AttemptView") -> list[Fact]:
    """Return the counts of the firewall, with the target of the policy."""
    if attempt.validation is None:
        return []
    found, metrics = attempt.validation, attempt.validation.grounding_metrics
    target = page.policy and page.policy.validation.attribution_target
    aimed = f"; the policy aims at {target:.0%}" if target is not None else ""
    return _facts(
        verdict=f"{found.validation_status}{f' ({found.failure_reason})' if found.failure_reason else ''}",
        statements=f"{metrics.sentence_count}, {metrics.uncited_sentence_count} uncited",
        citations=f"{metrics.citation_count}, {metrics.invalid_anchor_count} invented, "
        f"{metrics.malformed_anchor_count} malformed",
        coverage=f"{metrics.attribution_coverage:.0%} of the statements that need a citation have one{aimed}",
        density=_density(found),
        literals=f"{len(found.literals)}, {metrics.unsupported_literal_count} in no cited source",
        support=found.support_level,
    )


def _density(found: "ValidationResult") -> str | None:
    """Return the citations per statement of each paragraph; None without an answer."""
    from sourcebound.contracts.presentation.citation_density import citation_density

    paragraphs = citation_density(found.validated_answer_text, found.statements) if found.validated_answer_text else ()
    densities = [f"{part.density:.1f}" for part in paragraphs if part.density is not None]
    return f"{', '.join(densities)} citations per statement, by paragraph" if densities else None


def statement_notes(statement: "StatementView") -> list[str]:
    """Return the broken rules of a statement, and the source of each literal."""
    notes = [violation_text(violation) for violation in statement.violations]
    for literal in statement.literals:
        found = ", ".join(literal.found_in) if literal.found_in else "no cited source"
        notes.append(f"{literal.kind} {literal.text!r} in {found}")
    return notes


def violation_text(violation: "Violation") -> str:
    """Format a violation: code, clause, message and value."""
    value = f": {violation.value!r}" if violation.value else ""
    return f"{violation.code} ({violation.clause}) {violation.message}{value}"


def chain(record: "RecordPlace") -> str:
    """Say whether a record matches its place in the chain."""
    return f"does not match: {record.finding}" if record.finding else "matches its hash and the previous one"


def milliseconds(value: float | None) -> str | None:
    """Format milliseconds."""
    return None if value is None else f"{value:.1f} ms"


def number(value: int | None) -> str:
    """Format a count; `?` where it is unknown."""
    return "?" if value is None else str(value)


def _took(page: "RunPage") -> str | None:
    if page.response:
        return milliseconds(page.response.latency_ms)
    if page.head.finished_at is None:
        return None
    return milliseconds((page.head.finished_at - page.head.started_at).total_seconds() * 1000)


def _against(value: float | None, minimum: float | None) -> str | None:
    if value is None and minimum is None:
        return None
    measured = "not measured" if value is None else f"{value:.3f}"
    return measured if minimum is None else f"{measured}, {minimum:.3f} needed"


def _facts(**values: str | None) -> list[Fact]:
    return [Fact(label.replace("_", " "), value) for label, value in values.items() if value]


def lines_of(facts: Iterable[Fact]) -> list[str]:
    """Format facts as lines with the labels in one column."""
    from sourcebound.contracts.text.sanitize import one_line

    return [f"{fact.label:<14} {one_line(fact.value)}" for fact in facts]
