"""Receipts of runs of the whole graph over fakes, with chained audit records, signed with a real key."""

import asyncio
import json
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sourcebound.contracts.audit.hash_chain import GENESIS, ChainedRow, audit_columns, record_hash
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.receipt.issue import make_receipt
from sourcebound.contracts.receipt.sealed import seal_receipt, signed_message
from sourcebound.contracts.receipt.verify import VerifiedReceipt, read_receipt
from sourcebound.contracts.state import State
from sourcebound.graph.workflow import build_graph
from sourcebound.store.audit.signing_key import SigningKey, verify_signature
from support.builders import FILTER, SEAL, JsonObject, bundle, generation, policy, row
from support.fakes import FakeModel, FakeOutside, FakeRetriever

ANSWER = f"{SEAL} [C0]"
QUESTION = "How often must the shaft seal be checked?"
CANONICAL: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}
KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
OTHER_KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\1"))


class Recorded(NamedTuple):
    """A finished run and its audit record."""

    state: State
    row: ChainedRow

    def receipt(self, key: SigningKey = KEY) -> bytes:
        now = datetime(2024, 3, 5, tzinfo=UTC).isoformat()
        return seal_receipt(make_receipt(self.state, self.row, now, "sourcebound 0"), key)


def record(
    text: str = ANSWER, results: list[JsonObject] | None = None, chosen: Policy | None = None, **changes: Any
) -> Recorded:
    """Run the graph and chain its audit record as the first one."""
    rows = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)] if results is None else results
    enforced = policy(validation={"literal_grounding": "enforce"})
    outside = FakeOutside(chosen or enforced, FakeRetriever(bundle(rows, **changes)), FakeModel(generation(text)))
    graph, everything = build_graph(outside.ports()).compile(), list(State.__annotations__)
    state = cast("State", asyncio.run(graph.ainvoke({"question": QUESTION}, output_keys=everything)))
    columns = audit_columns(AuditRecord.model_validate(state["audit"]))
    return Recorded(state, ChainedRow(1, GENESIS, record_hash(columns, GENESIS), columns))


@cache
def answered() -> bytes:
    """Build the receipt of an answered run."""
    return record().receipt()


def verify(data: bytes, public_key: str | None = None) -> VerifiedReceipt:
    return read_receipt(data, verify_signature, public_key)


def broken(data: bytes, public_key: str | None = None) -> list[str]:
    """Return the subjects of the checks that fail."""
    return [check.subject for check in verify(data, public_key).checks if not check.holds]


def canonical(form: JsonObject) -> bytes:
    """Return the bytes of a receipt, without the product's own function."""
    return json.dumps(form, **CANONICAL).encode() + b"\n"


def signed(form: JsonObject, key: SigningKey = KEY) -> bytes:
    """Sign any content as a receipt, as an attacker with a key could."""
    unsigned = {**form, "public_key": key.public_key}
    return canonical({**unsigned, "signature": key.sign(signed_message(unsigned)).hex()})
