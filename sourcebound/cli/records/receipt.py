"""`sourcebound receipt` and `runs receipt`: proof of a run that a third party can check (CP-8)."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sourcebound.cli.console import FAILED, run_async, say, write_bytes
from sourcebound.errors import DocumentError, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sourcebound.contracts.corpus.document import ParsedDocument
    from sourcebound.contracts.receipt.sealed import SignedReceipt
    from sourcebound.contracts.receipt.verify import ReceiptCheck

app = typer.Typer(help="Verify a receipt without the database.", no_args_is_help=True)
PUBLIC_KEY: Final = re.compile(r"(?<!\w)ed25519:[0-9a-f]{64}(?!\w)")
OWN_KEY: Final = (
    "The receipt was checked with the key that it names itself. This shows that nothing changed since it was signed, "
    "not who signed it. Give the signer's key with --public-key."
)


def write(
    run: Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")],
    output: Annotated[Path | None, typer.Option(help="A new file. Default: stdout.")] = None,
) -> None:
    """Write the signed receipt of a run, also of a refused or failed one: hashes of its texts, not the texts."""
    data = run_async(lambda: _issue(run))
    _warn_of_literals(data)
    write_bytes(data, output)
    if output is not None:
        say(f"The receipt is in {output}. Next: sourcebound receipt verify {output}")


@app.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(help="The receipt.")],
    answer: Annotated[Path | None, typer.Option(help="A file with the text of the answer to compare.")] = None,
    question: Annotated[Path | None, typer.Option(help="A file with the question to compare.")] = None,
    document: Annotated[
        list[Path] | None, typer.Option(help="A source document; the cited chunks must be in it. Repeatable.")
    ] = None,
    public_key: Annotated[str | None, typer.Option(help="The key of the signer: ed25519:… or a file.")] = None,
) -> None:
    """Check a receipt, and the answer, question or documents against it. Needs no database and no network.

    Exit codes: 0 every check passes, 4 one fails, 2 bad usage.
    """
    from sourcebound.contracts.receipt.verify import read_receipt
    from sourcebound.store.audit.signing_key import verify_signature

    read = read_receipt(_bytes(file), verify_signature, _pinned(public_key))
    checks = [*read.checks, *_comparisons(read.receipt, answer, question, document or [])]
    width = max(len(check.subject) for check in checks)
    for check in checks:
        print(_printable(f"{'OK ' if check.holds else 'NOT'}  {check.subject:<{width}}  {check.found}"))
    if read.receipt is not None:
        print(_printable(_describe(read.receipt)))
        if public_key is None:
            print(OWN_KEY)
    if not all(check.holds for check in checks):
        raise typer.Exit(FAILED)


async def _issue(run: str) -> bytes:
    from sourcebound.cli.records.lookup import find_run
    from sourcebound.graph.engine import Engine
    from sourcebound.graph.run_views.receipt import issue_receipt
    from sourcebound.settings import get_settings
    from sourcebound.store.audit.signing_key import SigningKey
    from sourcebound.store.checkpoints.archive import PostgresHistory
    from sourcebound.wiring import open_services

    settings = get_settings()
    key = SigningKey.load(settings.signing_key_file)
    async with open_services(settings) as services:
        found, history = await find_run(services, run), PostgresHistory(services.pool)
        return await issue_receipt(Engine(services), services.audit_log, history, found, key)


def _warn_of_literals(data: bytes) -> None:
    """Warn that the receipt of a rejected answer holds its unsupported literals."""
    import json

    record = json.loads(data)["record"]
    if record["generation_status"] == "FAILED" and record["suspicious_new_ids"]:
        say("The record, and with it the receipt, holds literals of the rejected answer (suspicious_new_ids).")


def _comparisons(
    receipt: "SignedReceipt | None", answer: Path | None, question: Path | None, documents: list[Path]
) -> "Iterator[ReceiptCheck]":
    from sourcebound.contracts.receipt.verify import compare_answer, compare_question, find_spans

    if receipt is None:
        return
    if answer is not None:
        yield compare_answer(receipt, _text(answer))
    if question is not None:
        yield compare_question(receipt, _text(question))
    if documents:
        read, unreadable = _read_documents(documents)
        yield from unreadable
        yield from find_spans(receipt, read)


def _read_documents(paths: list[Path]) -> "tuple[dict[str, ParsedDocument], list[ReceiptCheck]]":
    """Parse the documents as ingest does, in the same sandbox. Return those that it cannot read as failed checks."""
    from sourcebound.contracts.receipt.verify import ReceiptCheck
    from sourcebound.ingest.loaders.select import read_bytes
    from sourcebound.ingest.sandbox.parser_pool import ParserPool
    from sourcebound.settings import get_settings

    settings = get_settings()
    most = settings.max_file_megabytes << 20
    parser = ParserPool(settings.parse_seconds, settings.parse_memory_megabytes)
    read, unreadable = {}, []
    try:
        for path in paths:
            try:
                read[str(path)] = parser.parse(path, read_bytes(path, most), most)
            except DocumentError as error:
                unreadable.append(ReceiptCheck(str(path), False, error.message))
            except OSError as error:
                raise RequestError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from error
    finally:
        parser.close()
    return read, unreadable


def _pinned(public_key: str | None) -> str | None:
    """Return the given key, or the key in the given file."""
    if public_key is None:
        return None
    text = public_key if public_key.startswith("ed25519:") else _text(Path(public_key))
    found = set(PUBLIC_KEY.findall(text))
    if len(found) != 1:
        raise RequestError(
            f"{public_key!r} holds no public key.",
            "Give ed25519: and 64 hexadecimal digits, as `sourcebound keys show` prints it, or a file with one.",
            code="BAD_PUBLIC_KEY",
        )
    return str(found.pop())


def _describe(receipt: "SignedReceipt") -> str:
    record = receipt.record
    reason = record.get("refusal_code") or record.get("failure_reason")
    return (
        f"run {record['run_id']} of {record['timestamp_utc']}: {record['generation_status']}"
        f"{f' ({reason})' if reason else ''}, policy {record['policy_version']}, model {record['model_name']}"
    )


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from error


def _printable(line: str) -> str:
    """Replace characters that could control a terminal; a receipt is untrusted input."""
    return "".join(character if character.isprintable() else "\ufffd" for character in line)
