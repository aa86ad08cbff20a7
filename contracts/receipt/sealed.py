"""CP-8: a receipt, with which a third party checks one recorded run without our database.

It holds the run's audit record whole, with its place in the chain, and hashes of what the record does not bind: the
question, the answer, and every chunk that the model was shown, with the place where it stands. Of texts it holds only
the literals of `suspicious_new_ids`, which are part of the record. Whoever has the answer or a document holds it
against the receipt.

The file is one JSON object in canonical form and a line feed, so that a changed byte is a changed receipt. The
signature is over `SIGNED_AS`, a line feed, and the canonical form of everything but the signature.
"""

from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from sourcebound.contracts.audit.hash_chain import Column
from sourcebound.contracts.base import Contract
from sourcebound.contracts.text.canonical_json import canonical_json

VERSION: Final = "1"
SIGNED_AS: Final = b"sourcebound receipt 1"
"""What a signature is for, so that nothing else that the key signs can pass for a receipt."""
NEEDED: Final = (
    "request_id", "run_id", "thread_id", "timestamp_utc", "generation_status", "validation_status", "model_name",
    "policy_version", "policy_sha256",
)  # fmt: skip
"""Texts that every audit record has."""
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
PublicKey = Annotated[str, StringConstraints(pattern=r"^ed25519:[0-9a-f]{64}$")]


class Signer(Protocol):
    """A private key."""

    @property
    def public_key(self) -> str:
        """`ed25519:` and 64 hexadecimal digits."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The Ed25519 signature of a message, 64 bytes."""
        ...


class Span(Contract):
    """A chunk that the model was shown, by its hashes, and where it stands."""

    model_config = ConfigDict(strict=True)

    anchor: Annotated[str, StringConstraints(pattern=r"^C(0|[1-9][0-9]*)$")]
    chunk_id: str
    knowledge_id: str
    source_reference: str | None
    page_number: Annotated[int | None, Field(ge=1)]
    char_start: Annotated[int | None, Field(ge=0)]
    char_end: Annotated[int | None, Field(ge=0)]
    """Characters of the page's text as the loader reads it; null where the retriever named no place."""
    chunk_sha256: Sha256
    """Of the whole chunk: the page's text from `char_start` to `char_end`."""
    kept_end: Annotated[int | None, Field(ge=1)]
    """Where the sanitized chunk was cut, in characters; null where it was shown whole (R2-S6)."""
    shown_sha256: Sha256
    """Of the text in the prompt: the chunk after R2-S2, up to `kept_end`."""


class ChainPlace(Contract):
    """The record's place in the audit chain (R5P-4)."""

    model_config = ConfigDict(strict=True)

    position: Annotated[int, Field(ge=1)]
    previous_hash: Sha256
    row_hash: Sha256


class Receipt(Contract):
    """What is signed."""

    model_config = ConfigDict(strict=True)

    receipt_version: Literal["1"] = VERSION
    software: str
    """What wrote it, with its version: another version may read a document otherwise."""
    issued_at: str
    """UTC, ISO 8601."""
    question_sha256: Sha256
    answer_sha256: Sha256 | None
    """Of the released text; null where nothing was released."""
    spans: Annotated[tuple[Span, ...], Field(strict=False)]
    record: dict[str, Column]
    """The columns of the audit record (R5P-2): ids, policy, index, prompt hash, model, verdict and citations."""
    chain: ChainPlace


class SignedReceipt(Receipt):
    """A receipt as it is handed on."""

    public_key: PublicKey
    signature: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]

    @model_validator(mode="after")
    def _has_a_whole_record(self) -> "SignedReceipt":
        missing = [name for name in NEEDED if not isinstance(self.record.get(name), str)]
        if missing:
            raise ValueError(f"the record lacks {', '.join(missing)}")
        return self

    @property
    def citations(self) -> list[str]:
        """The anchors that the answer cites."""
        cited = self.record.get("validated_citations")
        return cited if isinstance(cited, list) else []


def signed_message(form: dict[str, Any]) -> bytes:
    """What the signature of a receipt is over.

    Args:
        form: The receipt as JSON, with its public key; a signature in it is left out.
    """
    unsigned = {name: value for name, value in form.items() if name != "signature"}
    return SIGNED_AS + b"\n" + canonical_json(unsigned)


def seal_receipt(receipt: Receipt, signer: Signer) -> bytes:
    """The bytes of the file that is handed on."""
    form = {**receipt.model_dump(mode="json"), "public_key": signer.public_key}
    return canonical_json({**form, "signature": signer.sign(signed_message(form)).hex()}) + b"\n"
