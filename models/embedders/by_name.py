"""Opens embedders by name. This is the only module that lists them all.

Rule: an unknown name is an error that lists the known ones, and there is no silent fallback. Only `auto` chooses,
between MiniLM and no embedder, and `describe_embedder` reports the choice and the reason.
"""

import asyncio
from pathlib import Path

from sourcebound.contracts.ports import Embedder
from sourcebound.errors import ConfigurationError
from sourcebound.models.embedders.minilm import INSTALL_COMMAND, find_weights, shared_minilm
from sourcebound.models.embedders.remote import connect_ollama, connect_openai
from sourcebound.models.onnx.embedder import OnnxEmbedder
from sourcebound.settings import Settings

KNOWN = ("auto", "minilm", "lexical", "onnx:FOLDER", "ollama:MODEL", "openai:MODEL")
PROVIDERS = ("ollama", "openai")


def embedder_available() -> bool:
    """Tell whether the weights of the built-in embedder are installed. Loading it checks their hashes."""
    return find_weights() is not None


def describe_embedder(name: str) -> str:
    """Describe in one sentence what `name` selects on this machine, without loading a model or calling a server.

    Args:
        name: As for `open_embedder`.

    Raises:
        ConfigurationError: The name is not known.
    """
    resolved = resolve_embedder(name)
    if resolved == "minilm":
        folder = find_weights()
        where = f"weights in {folder}" if folder else f"weights not installed; run `{INSTALL_COMMAND}`"
        return f"minilm: all-MiniLM-L6-v2 on this machine, {where}."
    if resolved == "lexical":
        reason = "no embedder, retrieval matches words only"
        return f"lexical: {reason}" + (f"; run `{INSTALL_COMMAND}` for MiniLM." if name == "auto" else ".")
    provider, _, model = resolved.partition(":")
    if provider == "onnx":
        return f"onnx: the model in {model} on this machine."
    return f"{resolved}: the model {model} of the {provider} server."


async def open_embedder(name: str, settings: Settings) -> Embedder | None:
    """Open the embedder called `name`, or return None for lexical retrieval.

    Args:
        name: `auto`, `minilm`, `lexical`, `onnx:FOLDER`, `ollama:MODEL` or `openai:MODEL`. `auto` is minilm if its
            weights are installed, else lexical.
        settings: The addresses of the servers, and the key.

    Returns:
        An embedder that knows its dimensions. A remote one has received one request. MiniLM loads on first use.

    Raises:
        ConfigurationError: The name is not known, or a key is missing.
        ModelError: The weights are missing, or the server is unavailable or refuses.
    """
    resolved = resolve_embedder(name)
    if resolved == "lexical":
        return None
    if resolved == "minilm":
        return shared_minilm()
    provider, _, model = resolved.partition(":")
    if provider == "onnx":
        return await asyncio.to_thread(OnnxEmbedder, Path(model))
    if provider == "ollama":
        return await connect_ollama(model, settings.ollama_host)
    return await connect_openai(model, settings.openai_api_key, settings.openai_base_url)


def resolve_embedder(name: str) -> str:
    """Check that `name` is well formed and return it, with `auto` replaced by its choice and a folder made absolute.

    Raises:
        ConfigurationError: The name is not known.
    """
    if name == "auto":
        return "minilm" if embedder_available() else "lexical"
    provider, _, model = name.partition(":")
    if provider == "onnx" and model:
        return f"onnx:{Path(model).expanduser().resolve()}"
    if name in ("minilm", "lexical") or (provider in PROVIDERS and model):
        return name
    raise ConfigurationError(f"There is no embedder called {name!r}.", f"Choose one of: {', '.join(KNOWN)}.")
