"""CP-8: the receipt of one recorded run, which a third party can check without our database.

A receipt holds the whole audit record of the run with its place in the chain, and hashes of the values that the record
does not cover: the question, the answer, and every chunk that the model saw, with its place in the document. The only
texts in a receipt are the literals of `suspicious_new_ids`, because they are part of the record. A reader who has the
answer or a document can compare it with the receipt.

The file is one JSON object in canonical form and a line feed, so that any changed byte changes the receipt. The signed
bytes are `SIGNED_AS`, a line feed, and the canonical form of everything except the signature.
"""

from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from sourcebound.contracts.audit.hash_chain import Column
from sourcebound.contracts.base import Contract
from sourcebound.contracts.text.canonical_json import canonical_json

VERSION: Final = "1"
SIGNED_AS: Final = b"sourcebound receipt 1"
"""The prefix of the signed bytes, so that no other message signed with the key can pass for a receipt."""
NEEDED: Final = (
    "request_id", "run_id", "thread_id", "timestamp_utc", "generation_status", "validation_status", "model_name",
    "policy_version", "policy_sha256",
)  # fmt: skip
"""The text columns that every audit record has."""
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
PublicKey = Annotated[str, StringConstraints(pattern=r"^ed25519:[0-9a-f]{64}$")]


class Signer(Protocol):
    """A private key."""

    @property
    def public_key(self) -> str:
        """The public key: `ed25519:` and 64 hexadecimal digits."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature of a message, 64 bytes."""
        ...


class Span(Contract):
    """The hashes of a chunk that the model saw, and its place in the document."""

    model_config = ConfigDict(strict=True)

    anchor: Annotated[str, StringConstraints(pattern=r"^C(0|[1-9][0-9]*)$")]
    chunk_id: str
    knowledge_id: str
    source_reference: str | None
    page_number: Annotated[int | None, Field(ge=1)]
    char_start: Annotated[int | None, Field(ge=0)]
    char_end: Annotated[int | None, Field(ge=0)]
    """The offsets in the page's text as the loader reads it; null if the retriever named no place."""
    chunk_sha256: Sha256
    """The hash of the whole chunk: the page's text from `char_start` to `char_end`."""
    kept_end: Annotated[int | None, Field(ge=1)]
    """The length in characters to which the sanitized chunk was cut; null if it was shown whole (R2-S6)."""
    shown_sha256: Sha256
    """The hash of the text in the prompt: the chunk after R2-S2, up to `kept_end`."""


class ChainPlace(Contract):
    """The record's place in the audit chain (R5P-4)."""

    model_config = ConfigDict(strict=True)

    position: Annotated[int, Field(ge=1)]
    previous_hash: Sha256
    row_hash: Sha256


class Receipt(Contract):
    """The signed content of a receipt."""

    model_config = ConfigDict(strict=True)

    receipt_version: Literal["1"] = VERSION
    software: str
    """The program that wrote the receipt, with its version: another version may load a document differently."""
    issued_at: str
    """The time of issue, UTC, ISO 8601."""
    question_sha256: Sha256
    answer_sha256: Sha256 | None
    """The hash of the released text; null if nothing was released."""
    spans: Annotated[tuple[Span, ...], Field(strict=False)]
    record: dict[str, Column]
    """The columns of the audit record (R5P-2): ids, policy, index, prompt hash, model, verdict and citations."""
    chain: ChainPlace


class SignedReceipt(Receipt):
    """A receipt with its public key and signature."""

    public_key: PublicKey
    signature: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]

    @model_validator(mode="after")
    def _require_a_complete_record(self) -> "SignedReceipt":
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
    """Return the bytes that the signature of a receipt covers.

    Args:
        form: The receipt as JSON, with its public key. A signature in it is ignored.
    """
    unsigned = {name: value for name, value in form.items() if name != "signature"}
    return SIGNED_AS + b"\n" + canonical_json(unsigned)


def seal_receipt(receipt: Receipt, signer: Signer) -> bytes:
    """Sign a receipt and return the bytes of its file."""
    form = {**receipt.model_dump(mode="json"), "public_key": signer.public_key}
    return canonical_json({**form, "signature": signer.sign(signed_message(form)).hex()}) + b"\n"
