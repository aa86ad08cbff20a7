"""R5P-8: places of the audit chain that are noted outside the database, and so outlast a chain that is computed again.

A chain alone cannot show that its end was removed, or that its owner computed all of it again. A signed head, a receipt
or an export that was kept elsewhere can.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from sourcebound.contracts.audit.hash_chain import Link
from sourcebound.contracts.base import Contract
from sourcebound.contracts.receipt.sealed import PublicKey, Sha256, SignedReceipt, Signer, signed_message
from sourcebound.contracts.text.canonical_json import canonical_json

VERSION: Final = "1"
SIGNED_AS: Final = b"sourcebound audit head 1"
"""The prefix of the signed bytes, so that no other message signed with the key can pass for a head."""
VerifySignature = Callable[[str, bytes, bytes], bool]


class SignedHead(Contract):
    """The end of the audit chain at a time, signed."""

    model_config = ConfigDict(strict=True)

    head_version: Literal["1"] = VERSION
    position: Annotated[int, Field(ge=0)]
    row_hash: Sha256
    signed_at: str
    """UTC, ISO 8601."""
    public_key: PublicKey
    signature: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]


class AnchorFault(NamedTuple):
    """The reason why a line of a file is not a place of the chain."""

    line: int
    finding: str


def seal_head(end: Link, signed_at: str, signer: Signer) -> bytes:
    """Sign the end of the chain, and return the line of its file.

    Args:
        end: The end of the chain.
        signed_at: The current time, UTC, ISO 8601.
        signer: The signing key.
    """
    form = {"head_version": VERSION, **end._asdict(), "signed_at": signed_at, "public_key": signer.public_key}
    return canonical_json({**form, "signature": signer.sign(_head_message(form)).hex()}) + b"\n"


def read_anchors(text: str, verify: VerifySignature) -> Iterator[Link | AnchorFault]:
    """Read the places that a file notes: signed heads, receipts, or records of an export, one on each line.

    Args:
        text: The content of the file.
        verify: Checks an Ed25519 signature: public key, message, signature.

    Yields:
        A place for each line, or why there is none.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            found = _read_anchor(line, verify)
            yield AnchorFault(number, found) if isinstance(found, str) else found


def find_missing(anchors: Sequence[Link], stored: dict[int, str]) -> Link | None:
    """Return the first noted place that the chain does not have.

    Args:
        anchors: The noted places.
        stored: The hashes of the chain at their positions; a position without a record is absent.
    """
    return next((place for place in anchors if place.position and stored.get(place.position) != place.row_hash), None)


def _read_anchor(line: str, verify: VerifySignature) -> Link | str:
    try:
        form = json.loads(line)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(form, dict):
        return "it is not an object"
    try:
        if "head_version" in form:
            return _read_head(form, verify)
        if "receipt_version" in form:
            return _read_receipt(form, verify)
    except ValidationError as error:
        return f"its form is wrong: {error.errors(include_url=False)[0]['msg']}"
    position, row_hash = form.get("position"), form.get("row_hash")
    if type(position) is int and isinstance(row_hash, str):
        return Link(position, row_hash)
    return "it is not a signed head, a receipt or a record of `sourcebound audit export`"


def _read_head(form: dict[str, Any], verify: VerifySignature) -> Link | str:
    head = SignedHead.model_validate(form)
    if not verify(head.public_key, _head_message(form), bytes.fromhex(head.signature)):
        return "the signature of the head is not valid"
    return Link(head.position, head.row_hash)


def _read_receipt(form: dict[str, Any], verify: VerifySignature) -> Link | str:
    receipt = SignedReceipt.model_validate(form)
    if not verify(receipt.public_key, signed_message(form), bytes.fromhex(receipt.signature)):
        return "the signature of the receipt is not valid"
    return Link(receipt.chain.position, receipt.chain.row_hash)


def _head_message(form: dict[str, Any]) -> bytes:
    unsigned = {name: value for name, value in form.items() if name != "signature"}
    return SIGNED_AS + b"\n" + canonical_json(unsigned)
