"""`sourcebound check`: the firewall alone, for an answer from any other system."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.answering.response_view import EXIT_CODES
from sourcebound.cli.console import print_rich
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.validation.result import ValidationResult


def check(
    bundle: Annotated[
        Path, typer.Option(help='JSON: an answer bundle, a retrieval bundle, or {"sources": ["text of C0", …]}.')
    ],
    answer: Annotated[Path, typer.Option(help="A file with the answer's text; - is stdin.")],
    policy: Annotated[str, typer.Option(help="A released policy or a policy file.")] = "SOURCEBOUND_V2",
    as_json: Annotated[bool, typer.Option("--json", help="Print only the verdict, as JSON.")] = False,
) -> None:
    """Check an answer's statements, citations and literals against its sources. Nothing is stored.

    Exit codes: 0 passed, 3 the exact refusal, 4 rejected, 2 bad usage.
    """
    from sourcebound.contracts.validation.firewall import check_answer
    from sourcebound.policies import look_up_policy
    from sourcebound.settings import get_settings

    rules = look_up_policy(policy, get_settings().policies).policy
    verdict = check_answer(_json(bundle), _text(answer), rules)
    if as_json:
        print(json.dumps(verdict.model_dump(mode="json"), ensure_ascii=False, indent=2))
    else:
        _render(verdict)
    raise typer.Exit(EXIT_CODES[verdict.outcome.status])


def _text(path: Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error


def _json(path: Path) -> object:
    try:
        return json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path} is not JSON: {error}.", "Give one JSON object.") from error


def _render(verdict: "ValidationResult") -> None:
    from rich.table import Table
    from rich.text import Text

    from sourcebound.contracts.text.sanitize import visible

    statements = Table("#", "statement", "cites", "verdict", box=None, padding=(0, 2, 0, 0))
    violations = {v.row: v.code.value for v in reversed(verdict.outcome.violations) if v.row is not None}
    for number, statement in enumerate(verdict.statements):
        verdict_text = violations.get(number, "ok" if statement.needs_citation else "exempt")
        anchors = " ".join(statement.anchors)
        statements.add_row(str(number + 1), Text(visible(statement.text)), anchors, verdict_text)
    for column in (statements.columns[0], *statements.columns[2:]):
        column.no_wrap = True
    if statements.row_count:
        print_rich(statements)
    literals = Table("#", "literal", "kind", "found in", box=None, padding=(0, 2, 0, 0))
    for finding in verdict.literals:
        anchors = " ".join(finding.found_in) or "NOT FOUND"
        literals.add_row(str(finding.segment + 1), Text(visible(finding.text)), finding.kind.value, anchors)
    for column in (literals.columns[0], *literals.columns[2:]):
        column.no_wrap = True
    if literals.row_count:
        print()
        print_rich(literals)
    print()
    reason = verdict.failure_reason or verdict.outcome.refusal_code or ""
    print_rich(Text(f"{verdict.validation_status.value} {reason}".strip(), style="bold"))
    for violation in verdict.outcome.violations:
        print_rich(Text(visible(f"  {violation.clause} {violation.code}: {violation.message}")))
