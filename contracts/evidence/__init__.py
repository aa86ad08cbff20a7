"""R2: from a retrieval bundle to an answer bundle: intake, gate, selection and anchors (R1-11, R2-V, R2-S, R2-A)."""
