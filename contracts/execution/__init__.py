"""R4: one model call: what is sent, what comes back, and when a reply is complete (R4-1 to R4-7)."""
