"""Embedders by name: the one place that knows which there are.

Rule: a name is either understood or an error that lists what is; nothing falls back in silence. Only `auto`
chooses, between MiniLM and none, and `describe_embedder` says which it chose and why.
"""

from sourcebound.contracts.ports import Embedder
from sourcebound.errors import ConfigurationError
from sourcebound.models.embedders.minilm import INSTALL_COMMAND, MiniLmEmbedder, find_weights
from sourcebound.models.embedders.remote import connect_ollama, connect_openai
from sourcebound.settings import Settings

KNOWN = ("auto", "minilm", "lexical", "ollama:MODEL", "openai:MODEL")
PROVIDERS = ("ollama", "openai")


def embedder_available() -> bool:
    """Whether the weights of the embedded embedder are installed; their hashes are checked when it loads."""
    return find_weights() is not None


def describe_embedder(name: str) -> str:
    """One sentence for people: what `name` stands for on this machine. Nothing is loaded and nobody is asked.

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
    return f"{resolved}: the model {model} of the {provider} server."


async def open_embedder(name: str, settings: Settings) -> Embedder | None:
    """The embedder called `name`, or None where retrieval is to be lexical.

    Args:
        name: `auto`, `minilm`, `lexical`, `ollama:MODEL` or `openai:MODEL`; auto is minilm where its weights
            are installed and lexical elsewhere.
        settings: Addresses and the key of the servers.

    Returns:
        An embedder that knows its dimensions: a remote one has been asked once, MiniLM loads at first use.

    Raises:
        ConfigurationError: The name is not known, or a key is missing.
        ModelError: The weights are missing, or the server is unavailable or refuses.
    """
    resolved = resolve_embedder(name)
    if resolved == "lexical":
        return None
    if resolved == "minilm":
        return MiniLmEmbedder()
    provider, _, model = resolved.partition(":")
    if provider == "ollama":
        return await connect_ollama(model, settings.ollama_host)
    return await connect_openai(model, settings.openai_api_key, settings.openai_base_url)


def resolve_embedder(name: str) -> str:
    """`name` itself once it is known to be well formed; `auto` becomes what it stands for here.

    Raises:
        ConfigurationError: The name is not known.
    """
    if name == "auto":
        return "minilm" if embedder_available() else "lexical"
    provider, _, model = name.partition(":")
    if name in ("minilm", "lexical") or (provider in PROVIDERS and model):
        return name
    raise ConfigurationError(f"There is no embedder called {name!r}.", f"Choose one of: {', '.join(KNOWN)}.")
