"""Measure the firewall on replies as good models write them: honest ones must pass, false ones must not (contract R5).

The set is hand-made: evidence in five domains and five languages, a question, and five replies for each evidence.
One author wrote and labelled each reply by the contract, not by the code. The bundles are split in two parts. Failures
of the part `dev` may be read to improve the firewall, those of `held` may not.

The folder `prompts` holds a second set of this shape. Its evidence is that of real prompts, up to twelve chunks each,
and all replies were written before one was judged. The folder `binding` holds a third set, of pairs that differ in the
thing that a value is said of. The folder `turned` holds a fourth, of pairs that differ in a denial, an order or a role.
The folders `others`, `further`, `languages`, `wording` and `foreign` hold replies by language models that had not seen
the firewall.

    python -m sourcebound.evals.honest [--data tests/assets/honest/prompts] [--policy SOURCEBOUND_V2] [--failures]
"""

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.validation.firewall import check_answer
from sourcebound.evals.metrics import Interval, share_by_group

POLICY: Final = "SOURCEBOUND_V2"
FAITHFUL: Final = "faithful"
UNFAITHFUL: Final = "unfaithful"
PARTIAL: Final = "partial"
"""The kind of replies that end with the line of a partial answer (R3-10). Only a policy that knows it accepts them."""


class Reply(NamedTuple):
    """One labelled reply with its evidence. The texts of `evidence` are the sources C0, C1 and so on."""

    id: str
    bundle: str
    domain: str
    language: str
    part: str
    evidence: tuple[str, ...]
    question: str
    reply: str
    label: str
    kind: str
    note: str
    document: str
    """The document that the evidence is from, or the bundle; replies to one are not independent."""


class Verdict(NamedTuple):
    """The firewall's verdict on one reply, with every broken rule as `CODE: value`."""

    reply: Reply
    released: bool
    reasons: tuple[str, ...]


def load_replies(folder: Path) -> tuple[Reply, ...]:
    """Load the set.

    Args:
        folder: The folder with `evidence.jsonl` and `replies.jsonl`.

    Returns:
        The replies in the order of the file.

    Raises:
        KeyError: A reply names evidence that is not in the set.
    """
    bundles = {row["id"]: row for row in _read_rows(folder / "evidence.jsonl")}
    return tuple(join_reply(row, bundles[row["bundle"]]) for row in _read_rows(folder / "replies.jsonl"))


def _read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def join_reply(row: dict[str, Any], bundle: dict[str, Any]) -> Reply:
    """Return a labelled reply with its evidence."""
    document = bundle.get("document") or bundle["id"]
    shared = {"domain": bundle["domain"], "language": bundle["language"], "evidence": tuple(bundle["evidence"])}
    return Reply(**row, **shared, part=part_of(document), document=document)


def part_of(document: str) -> str:
    """Return `dev` or `held` by the hash of a document's or bundle's id, so that new ones do not move old ones."""
    return "dev" if hashlib.sha256(document.encode()).digest()[0] % 2 == 0 else "held"


def judge(replies: Iterable[Reply], policy: str = POLICY) -> list[Verdict]:
    """Return the firewall's verdicts under a released policy.

    Raises:
        KeyError: There is no released policy of that name.
    """
    return [_judge_one(reply, policy) for reply in replies]


def _judge_one(reply: Reply, policy: str) -> Verdict:
    result = check_answer(bundle_of_texts(reply.evidence, reply.question), reply.reply, policy)
    reasons = tuple(f"{item.code.value}: {item.value}" for item in result.outcome.violations)
    refusal = result.outcome.refusal_code
    return Verdict(reply, bool(result.validated_answer_text), (refusal.value,) if refusal else reasons)


def released_share(verdicts: Iterable[Verdict]) -> Interval:
    """Return the share of released replies, with its interval by document."""
    groups: dict[str, list[int]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.reply.document, []).append(verdict.released)
    return share_by_group([(sum(group), len(group)) for group in groups.values()])


def render(verdicts: Sequence[Verdict]) -> str:
    """Render the shares of released replies by label, kind, language, domain and part as a Markdown table."""
    lines = ["| replies | released | share | 95 % interval |", "|---|---|---|---|"]
    for label in (FAITHFUL, UNFAITHFUL):
        chosen = [item for item in verdicts if item.reply.label == label]
        lines.append(_row(f"**{label}**", chosen))
        for field in ("kind", "language", "domain", "part"):
            lines += _rows_by(label, field, chosen)
    return "\n".join(lines)


def _rows_by(label: str, field: str, verdicts: Sequence[Verdict]) -> list[str]:
    groups: dict[str, list[Verdict]] = {}
    for item in verdicts:
        groups.setdefault(getattr(item.reply, field), []).append(item)
    return [_row(f"{label}, {field} {name}", groups[name]) for name in sorted(groups)]


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    released, share = sum(item.released for item in verdicts), released_share(verdicts)
    return f"| {name} | {released}/{len(verdicts)} | {share.mean:.1%} | {share.low:.1%}–{share.high:.1%} |"


def list_failures(verdicts: Iterable[Verdict]) -> str:
    """Return one line for each wrong verdict on the part `dev`; the part `held` stays unread."""
    wrong = [item for item in verdicts if item.released is (item.reply.label == UNFAITHFUL)]
    return "\n".join(_failure(item) for item in wrong if item.reply.part == "dev")


def _failure(verdict: Verdict) -> str:
    reasons = "; ".join(verdict.reasons) or f"released although {verdict.reply.note}"
    return f"{verdict.reply.id} ({verdict.reply.kind}): {' '.join(reasons.split())}"


def main() -> None:
    """Print the table, and on request the wrong verdicts on the part `dev`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("tests/assets/honest"))
    parser.add_argument("--policy", default=POLICY)
    parser.add_argument("--failures", action="store_true", help="list the wrong verdicts on the part dev")
    arguments = parser.parse_args()
    verdicts = judge(load_replies(arguments.data), arguments.policy)
    print(render(verdicts))
    if arguments.failures:
        print(f"\n{list_failures(verdicts)}")


if __name__ == "__main__":
    main()
