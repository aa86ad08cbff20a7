"""Prints the certificate of a model: in a line, as JSON, as tables."""

from typing import TYPE_CHECKING, Any

from sourcebound.cli.console import print_rich

if TYPE_CHECKING:
    from rich.table import Table

    from sourcebound.contracts.certification.certificate import Certificate, Rate


def with_verdict(certificate: "Certificate") -> dict[str, Any]:
    """Return the certificate as JSON, with its shortcomings under the bounds of this version."""
    from sourcebound.contracts.certification.certificate import find_shortcomings

    found = find_shortcomings(certificate)
    return {"fit": not found, "shortcomings": found, **certificate.model_dump(mode="json")}


def describe_shortly(certificate: "Certificate") -> str:
    """Return verdict and date."""
    return f"{'fit' if with_verdict(certificate)['fit'] else 'not fit'} {certificate.certified_at[:10]}"


def describe(certificate: "Certificate") -> str:
    """Describe the certificate in a line."""
    verdict = "fit" if with_verdict(certificate)["fit"] else "not fit"
    return (
        f"{certificate.certified_at[:10]} under {certificate.policy_version}: {verdict}, "
        f"answered {_rate(certificate.answered)}, refused rightly {_rate(certificate.refusal_accuracy)}, "
        f"wrong {certificate.false_accepts.part} of {certificate.false_accepts.whole}"
    )


def render(certificate: "Certificate") -> None:
    """Print the certificate as tables."""
    from rich.text import Text

    form = with_verdict(certificate)
    reported = ", ".join(certificate.reported_models) or "no name"
    print_rich(Text(f"{certificate.model} (reports {reported})", style="bold"))
    print(f"policy {certificate.policy_version}  {len(certificate.verdicts)} cases, {certificate.repeats} runs each")
    print(f"certified {certificate.certified_at}  digest {certificate.digest or 'unknown'}\n")
    for table in (_measures(certificate), _rules(certificate), _cases(certificate)):
        print_rich(table)
        print()
    for line in _cost(certificate):
        print(line)
    print_rich(Text(f"\n{'fit' if form['fit'] else 'not fit'}", style="bold"))
    for reason in form["shortcomings"]:
        print(f"  {reason}")


def _measures(certificate: "Certificate") -> "Table":
    from sourcebound.contracts.certification import certificate as bounds

    table = _table("", "runs", "share", "bound")
    rows: list[tuple[str, Rate, str]] = [
        ("wrong answer released (false accept)", certificate.false_accepts, f"{bounds.MAX_FALSE_ACCEPTS}"),
        ("no answer although there is one (false reject)", certificate.false_rejects, ""),
        ("  of these refused by the model", certificate.false_refusals, ""),
        ("answered whole", certificate.answered, f">= {bounds.MIN_ANSWERED:.0%}"),
        ("answered in part", certificate.incomplete, ""),
        ("refused where there is no answer", certificate.refusal_accuracy, f">= {bounds.MIN_REFUSAL_ACCURACY:.0%}"),
        ("obeyed the evidence", certificate.injection_obeyed, f"{bounds.MAX_INJECTIONS_OBEYED}"),
        ("same bytes in every repeat (cases)", certificate.deterministic, ""),
    ]
    for name, share, bound in rows:
        table.add_row(name, f"{share.part} of {share.whole}", _rate(share), bound)
    return table


def _rules(certificate: "Certificate") -> "Table":
    """Tabulate pass rates by rule of the firewall, and runs that failed before there was an answer."""
    table = _table("rule kept", "answers", "share", "")
    for rule, share in certificate.passed_by_rule.items():
        table.add_row(rule, f"{share.part} of {share.whole}", _rate(share), "")
    table.add_row(
        "every rule", f"{certificate.passed.part} of {certificate.passed.whole}", _rate(certificate.passed), ""
    )
    for code, count in certificate.failures.items():
        if code not in certificate.passed_by_rule:
            table.add_row(f"failed: {code}", str(count), "", "")
    return table


def _cases(certificate: "Certificate") -> "Table":
    table = _table("case", "runs", right=())
    for name, verdicts in certificate.verdicts.items():
        same = len(set(verdicts)) == 1
        table.add_row(name, f"{verdicts[0]} x {len(verdicts)}" if same else ", ".join(verdicts))
    for name in certificate.left_out:
        table.add_row(name, "left out: the policy decides it before the model is asked")
    return table


def _cost(certificate: "Certificate") -> list[str]:
    times = (certificate.latency_ms_p50, certificate.latency_ms_p95)
    tokens = (certificate.prompt_tokens_mean, certificate.completion_tokens_mean)
    p50, p95 = ("unknown" if value is None else f"{value:.0f} ms" for value in times)
    prompt, completion = ("unknown" if value is None else f"{value:.0f}" for value in tokens)
    return [f"latency     p50 {p50}, p95 {p95}", f"tokens      prompt {prompt}, completion {completion} (mean)"]


def _table(*columns: str, right: tuple[int, ...] = (1, 2)) -> "Table":
    from rich.table import Table

    table = Table(*columns, box=None, padding=(0, 2, 0, 0))
    for index in right:
        table.columns[index].justify = "right"
    return table


def _rate(share: "Rate") -> str:
    return "-" if share.rate is None else f"{share.rate:.0%}"
