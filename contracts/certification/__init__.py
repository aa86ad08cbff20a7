"""R4-8: certify a model for one policy: fixed cases, their results, the rates. `cases/` holds the cases."""
