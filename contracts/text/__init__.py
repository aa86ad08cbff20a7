"""Rules for plain text: sanitization (R2-S2), segmentation (R5-5), citations (R5-3), tokens, JSON."""
