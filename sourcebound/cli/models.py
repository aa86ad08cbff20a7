"""`sourcebound models`: the profile of each model, and its certificate for a policy."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sourcebound.cli.certificates import describe_shortly, render, with_verdict
from sourcebound.cli.console import ANSWERED, FAILED, progress, run_async, say
from sourcebound.errors import StoreError

if TYPE_CHECKING:
    from sourcebound.contracts.certification.certificate import Certificate
    from sourcebound.contracts.execution.model_profile import ModelProfile

app = typer.Typer(help="List, show, add and test models.", no_args_is_help=True)
LISTED = ("provider", "wire", "context_window", "temperature", "structured_output", "known")


@app.command("list")
def list_models(as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False) -> None:
    """List the models that have a profile or a certificate."""
    certificates = run_async(_certificates)
    profiles = _profiles(certificates)
    if as_json:
        for profile in profiles:
            form = {"name": profile.name, **profile.model_dump(mode="json", include=set(LISTED))}
            certificate = certificates.get(profile.name)
            print(json.dumps({**form, "certificate": certificate and with_verdict(certificate)}, ensure_ascii=False))
        return
    _print_list(profiles, certificates)


@app.command("show")
def show_model(
    name: Annotated[str, typer.Argument(help="extractive, local:MODEL, ollama:MODEL or openai:MODEL.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print only profile and certificate, as JSON.")] = False,
) -> None:
    """Show the profile of a model and its last certificate."""
    from sourcebound.models.registry import Models, describe_unknown
    from sourcebound.settings import get_settings

    profile = Models(get_settings()).profile(name)
    certificate = run_async(_certificates).get(name)
    form = profile.model_dump(mode="json")
    if not profile.known:
        say(describe_unknown(profile))
    if as_json:
        shown = {"name": profile.name, "profile": form, "certificate": certificate and with_verdict(certificate)}
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    width = max(map(len, form))
    for field, value in form.items():
        print(f"{field:<{width}}  {_format(value)}")
    print()
    if certificate is None:
        print(f"not certified. Next: sourcebound models test {name}")
    else:
        render(certificate)


@app.command("add")
def add_local_model(
    file: Annotated[Path, typer.Argument(help="A GGUF file of a chat model. It stays where it is.")],
    name: Annotated[str | None, typer.Option(help="The name; by default that of the file.")] = None,
    context: Annotated[int | None, typer.Option(min=512, help="The context window in tokens.")] = None,
) -> None:
    """Add a language model that runs on this machine, with llama.cpp in a child process.

    The file is loaded once as a check. It needs the extra `local`.
    """
    from sourcebound.models.local.added import add_model
    from sourcebound.settings import get_settings

    added = add_model(get_settings().home, file, name, context)
    print(f"added {added}")
    print(f'Next: sourcebound ask "…" --model {added} --policy SOURCEBOUND_SENTENCES_V2')
    print(f"      sourcebound models test {added} --policy SOURCEBOUND_SENTENCES_V2")


@app.command("remove")
def remove_local_model(name: Annotated[str, typer.Argument(help="local:MODEL.")]) -> None:
    """Remove a model from the list of added ones. Its file stays."""
    from sourcebound.models.local.added import remove_model
    from sourcebound.settings import get_settings

    remove_model(get_settings().home, name)
    print(f"removed {name}")


@app.command("test")
def certify_model(
    name: Annotated[str, typer.Argument(help="extractive, local:MODEL, ollama:MODEL or openai:MODEL.")],
    policy: Annotated[str | None, typer.Option(help="A released policy or a policy file.")] = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Runs of each case.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the certificate, as JSON.")] = False,
) -> None:
    """Run fixed cases through the whole graph, and store the results as the certificate of the model.

    Exit codes: 0 fit, 4 not fit, 2 bad usage, 1 fault.
    """
    certificate = run_async(lambda: _test(name, policy, repeats))
    form = with_verdict(certificate)
    if as_json:
        print(json.dumps(form, ensure_ascii=False, indent=2))
    else:
        render(certificate)
    raise typer.Exit(ANSWERED if form["fit"] else FAILED)


async def _test(name: str, policy: str | None, repeats: int) -> "Certificate":
    from sourcebound.graph.batch import certify
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.store.runs.certificates import PostgresCertificates
    from sourcebound.wiring import open_services

    settings = get_settings()
    async with open_services(settings) as services:
        facts = await services.models.examine(name)
        with progress("runs") as report:

            def on_progress(state: certify.Progress) -> None:
                report(state.done, state.total, state.result.case)

            certificate = await certify.certify(
                Engine(services), name, policy or settings.policy, repeats, on_progress, digest=facts.digest
            )
        await PostgresCertificates(services.pool).save(certificate)
    return certificate


async def _certificates() -> "dict[str, Certificate]":
    """Load the last certificate of each model. Return none, with a message, if the database cannot be opened."""
    from sourcebound.settings import get_settings
    from sourcebound.store.runs.certificates import PostgresCertificates
    from sourcebound.wiring import open_services

    try:
        async with open_services(get_settings()) as services:
            return await PostgresCertificates(services.pool).latest_by_model()
    except StoreError as error:
        say(f"Certificates cannot be read: {error.message} {error.next_step}")
        return {}


def _profiles(certificates: "dict[str, Certificate]") -> "list[ModelProfile]":
    from sourcebound.models.registry import Models
    from sourcebound.settings import get_settings

    models = Models(get_settings())
    named = {profile.name: profile for profile in models.profiles()}
    others = sorted(certificates.keys() - named.keys())
    return [*named.values(), *(models.profile(name) for name in others)]


def _print_list(profiles: "list[ModelProfile]", certificates: "dict[str, Certificate]") -> None:
    """Print plain columns without truncation, so that each name can be copied."""
    rows = [("model", "wire", "window", "temperature", "JSON schema", "certificate")]
    for profile in profiles:
        certificate = certificates.get(profile.name)
        window, schema = _format(profile.context_window), _format(profile.structured_output)
        verdict = describe_shortly(certificate) if certificate else "-"
        name = profile.name if profile.known else f"{profile.name} (no profile)"
        rows.append((name, profile.wire, window, profile.temperature, schema, verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _format(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, []) else str(value)
