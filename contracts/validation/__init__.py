"""R5: the firewall. An answer is released byte for byte or rejected (R5-1 to R5-15)."""
