"""Models that were exported to ONNX, from a folder on this machine: embedders and rerankers (§13)."""
