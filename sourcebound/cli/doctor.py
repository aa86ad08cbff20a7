"""`sourcebound doctor`: checks the configuration and names the next command to run."""

import sys
from typing import TYPE_CHECKING, NamedTuple

import typer

from sourcebound.cli.certificates import describe, with_verdict
from sourcebound.cli.console import FAULT, run_async
from sourcebound.cli.records.prune import describe_sizes
from sourcebound.cli.stored import examine_stored
from sourcebound.errors import SourceboundError

if TYPE_CHECKING:
    from sourcebound.contracts.certification.certificate import Certificate
    from sourcebound.settings import Settings


class Finding(NamedTuple):
    """The result of one check."""

    subject: str
    fine: bool
    found: str
    next_step: str = ""


def doctor() -> None:
    """Check everything that a run needs, and name the next command to run."""
    findings = run_async(_examine)
    for finding in findings:
        print(f"{'ok ' if finding.fine else 'NO '} {finding.subject:<11} {finding.found}")
        if finding.next_step:
            print(f"    Next: {finding.next_step}")
    if not all(finding.fine for finding in findings):
        raise typer.Exit(FAULT)


async def _examine() -> list[Finding]:
    from asyncio import to_thread
    from importlib.metadata import version

    from sourcebound.settings import get_settings

    settings = get_settings()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    findings = [Finding("sourcebound", True, f"{version('sourcebound')} on Python {python}")]
    model, digest = await _model(settings)
    parser = await to_thread(_parser, settings)
    findings += [_policies(settings), _embedder(settings.embedder), model, parser]
    return findings + await _database(digest)


def _policies(settings: "Settings") -> Finding:
    """Check the shipped policies and the deployment's own. A draft works; a changed release does not."""
    from sourcebound.contracts.policy.lock import ReleaseStatus
    from sourcebound.contracts.policy.releases import SHIPPED, check_lock
    from sourcebound.policies import check_own_policies, list_own_policies, look_up_policy

    try:
        findings = [*check_lock(), *check_own_policies(settings.policies)]
        own = list_own_policies(settings.policies)
        chosen = (
            look_up_policy(settings.policy, settings.policies).release_status
            if settings.policy
            else ReleaseStatus.SHIPPED
        )
    except SourceboundError as error:
        return Finding("policies", False, error.message, error.next_step)
    named = [f"{each.path.stem} ({each.found.release_status})" for each in own if each.found]
    summary = "; ".join(findings) or ", ".join([f"{', '.join(SHIPPED)}, as released", *named])
    if chosen is ReleaseStatus.DRAFT:
        return Finding(
            "policies", not findings, f"{summary}; the policy in use is a draft", "sourcebound policy release FILE"
        )
    return Finding("policies", not findings, summary)


def _rights(excess: str | None) -> Finding:
    """Describe the rights of the database role in use (R5P-8)."""
    if excess is None:
        return Finding("rights", True, "the role in use can append to the audit chain, and not change it")
    return Finding("rights", True, f"the role in use is {excess}", "sourcebound db grant ROLE, and connect as ROLE")


def _embedder(name: str) -> Finding:
    from sourcebound.models.embedders.by_name import describe_embedder, embedder_available

    try:
        return Finding("embedder", embedder_available() or name != "minilm", describe_embedder(name))
    except SourceboundError as error:
        return Finding("embedder", False, error.message, error.next_step)


def _parser(settings: "Settings") -> Finding:
    """Start a parser process, and say what this machine enforces on it (IX-2)."""
    from sourcebound.ingest.sandbox.parser_pool import ParserPool

    try:
        with ParserPool(settings.parse_seconds, settings.parse_memory_megabytes, processes=1) as pool:
            confinement = pool.describe_confinement()
    except SourceboundError as error:
        return Finding("parser", False, error.message, error.next_step)
    found = f"enforced: {', '.join(confinement.enforced) or 'nothing'}"
    if confinement.missing:
        found += f"; not enforced by this machine: {', '.join(confinement.missing)}"
    if not confinement.reachable:
        return Finding("parser", True, found)
    return Finding(
        "parser",
        confinement.reachable == ("other processes",),  # it can disturb them, and learns and changes nothing
        f"{found}; a hostile document could reach {', '.join(confinement.reachable)}",
        "Ingest only documents that you trust, or ingest on Linux 5.13 or newer with seccomp and Landlock.",
    )


async def _model(settings: "Settings") -> tuple[Finding, str | None]:
    """Check the configured model; return the digest of its weights if its server gives one."""
    from sourcebound.models.registry import Models
    from sourcebound.policies import look_up_policy
    from sourcebound.wiring import DEFAULT_POLICY

    try:
        models = Models(settings)
        facts = await models.examine(settings.model)
        models.check(settings.model, look_up_policy(settings.policy or DEFAULT_POLICY, settings.policies).policy)
    except SourceboundError as error:
        return Finding("model", False, error.message, error.next_step), None
    return Finding("model", True, _describe_model(settings.model)), facts.digest


def _describe_model(name: str) -> str:
    """Return a model's name; of the built-in generator also what it is, because it is no language model."""
    if name != "extractive":
        return name
    from sourcebound.models.embedders.by_name import embedder_available

    means = "words and meaning" if embedder_available() else "words alone, because MiniLM is not installed"
    return f"extractive: quotes the sentences that match best (by {means}) or refuses; not a language model"


def _certificate(name: str, certificate: "Certificate | None", digest: str | None) -> Finding:
    """Describe the model's certificate. The extractive generator can do without one, because it only quotes."""
    needed = name != "extractive"
    again = f"sourcebound models test {name}"
    if certificate is None:
        return Finding("certificate", True, f"{name} is not certified", again if needed else "")
    found = f"certified {describe(certificate)}"
    if digest and certificate.digest and digest != certificate.digest:
        change = f"{certificate.digest[:12]} then, {digest[:12]} now"
        return Finding("certificate", False, f"{found}; the model has changed since ({change})", again)
    fit = with_verdict(certificate)["fit"]
    return Finding(
        "certificate", fit or not needed, found, "" if fit or not needed else f"sourcebound models show {name}"
    )


def _connected(settings: "Settings", kind: str) -> Finding:
    """Name the database in use. For the embedded one, name the account that owns its data and runs it."""
    from sourcebound.store.server.accounts import describe_owner
    from sourcebound.store.server.postmaster import Postmaster

    if settings.database_url:
        return Finding("database", True, kind)
    return Finding("database", True, f"{kind}; {describe_owner(Postmaster(settings.home).data)}")


async def _database(digest: str | None) -> list[Finding]:
    from sourcebound.settings import get_settings
    from sourcebound.store.connection.rights import find_excess
    from sourcebound.store.runs.certificates import PostgresCertificates
    from sourcebound.wiring import open_services

    settings = get_settings()
    kind = "the server of DATABASE_URL" if settings.database_url else f"embedded, {settings.home}"
    try:
        async with open_services(settings) as services:
            stored, is_complete = await examine_stored(services)
            if not is_complete:
                return [_connected(settings, kind), *(Finding(*each) for each in stored)]
            collections = await services.index.list_collections()
            certificate = await PostgresCertificates(services.pool).latest(settings.model)
            sizes = await services.retention.sizes()
            excess = await find_excess(services.pool)
    except SourceboundError as error:
        return [Finding("database", False, f"{kind}: {error.message}", error.next_step)]
    listed = ", ".join(f"{found.name} ({found.documents} documents, {found.language})" for found in collections)
    empty = "sourcebound ingest PATH --collection NAME"
    ready = f'sourcebound ask "…" --collection {collections[0].name}' if collections else empty
    return [
        _connected(settings, kind),
        *(Finding(*each) for each in stored),
        _rights(excess),
        _certificate(settings.model, certificate, digest),
        Finding("storage", True, *describe_sizes(sizes)),
        Finding("collections", True, listed or "none yet", ready),
    ]
