"""R4-8: certify a model for one policy: fixed cases, results and rates. `cases/` has the cases."""
