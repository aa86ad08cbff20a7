"""Embedders by name: MiniLM on ONNX Runtime, Ollama and OpenAI (§13)."""
