"""The embedders: MiniLM on ONNX Runtime, Ollama and OpenAI (§13)."""
