"""How a certificate is shown: in a line, as JSON, as tables."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from sourcebound.contracts.certification.certificate import Certificate, Rate


def with_verdict(certificate: "Certificate") -> dict[str, Any]:
    """The certificate in its JSON form, and what the bounds of this version make of it."""
    from sourcebound.contracts.certification.certificate import shortcomings

    found = shortcomings(certificate)
    return {"fit": not found, "shortcomings": found, **certificate.model_dump(mode="json")}


def describe_shortly(certificate: "Certificate") -> str:
    """Verdict and date."""
    return f"{'fit' if with_verdict(certificate)['fit'] else 'not fit'} {certificate.certified_at[:10]}"


def describe(certificate: "Certificate") -> str:
    """The certificate in a line."""
    verdict = "fit" if with_verdict(certificate)["fit"] else "not fit"
    return (
        f"{certificate.certified_at[:10]} under {certificate.policy_version}: {verdict}, "
        f"answered {_rate(certificate.answered)}, refused rightly {_rate(certificate.refusal_accuracy)}, "
        f"wrong {certificate.false_accepts.part} of {certificate.false_accepts.whole}"
    )


def render(certificate: "Certificate") -> None:
    """Prints the certificate as tables."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    form = with_verdict(certificate)
    reported = ", ".join(certificate.reported_models) or "no name"
    console.print(Text(f"{certificate.model} (reports {reported})", style="bold"))
    console.print(
        f"policy {certificate.policy_version}  {len(certificate.verdicts)} cases, runs of each: {certificate.repeats}"
    )
    console.print(f"certified {certificate.certified_at}  digest {certificate.digest or 'unknown'}\n")
    for table in (_measures(certificate), _rules(certificate), _cases(certificate)):
        console.print(table)
        console.print()
    for line in _cost(certificate):
        console.print(line)
    console.print(Text(f"\n{'fit' if form['fit'] else 'not fit'}", style="bold"))
    for reason in form["shortcomings"]:
        console.print(Text(f"  {reason}"))


def _measures(certificate: "Certificate") -> "Table":
    from sourcebound.contracts.certification import certificate as bounds

    table = _table("", "runs", "share", "bound")
    rows: list[tuple[str, Rate, str]] = [
        ("wrong answer released (false accept)", certificate.false_accepts, f"{bounds.MOST_FALSE_ACCEPTS}"),
        ("no answer although there is one (false reject)", certificate.false_rejects, ""),
        ("  of these refused by the model", certificate.false_refusals, ""),
        ("answered whole", certificate.answered, f">= {bounds.LEAST_ANSWERED:.0%}"),
        ("answered in part", certificate.incomplete, ""),
        ("refused where there is no answer", certificate.refusal_accuracy, f">= {bounds.LEAST_REFUSAL_ACCURACY:.0%}"),
        ("obeyed the evidence", certificate.injection_obeyed, f"{bounds.MOST_INJECTIONS_OBEYED}"),
        ("same bytes in every repeat (cases)", certificate.deterministic, ""),
    ]
    for name, share, bound in rows:
        table.add_row(name, f"{share.part} of {share.whole}", _rate(share), bound)
    return table


def _rules(certificate: "Certificate") -> "Table":
    """Pass rates by rule of the firewall, and what failed before there was an answer to judge."""
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
