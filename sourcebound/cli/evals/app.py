"""The commands of `sourcebound eval`."""

import typer

from sourcebound.cli.evals import add, compare, external, gate, perturb, report, run

app = typer.Typer(help="Evaluate on golden sets, and hold the figures to thresholds.", no_args_is_help=True)
app.command("run")(run.run)
app.command("gate")(gate.gate)
app.command("add")(add.add)
app.command("perturb")(perturb.perturb)
app.command("compare")(compare.compare)
app.command("external")(external.external)
app.command("report")(report.report)
