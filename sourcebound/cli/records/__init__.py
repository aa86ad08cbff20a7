"""Commands on recorded runs: runs, replay, audit, receipt, export, prune, resume."""
