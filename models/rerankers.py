"""Opens rerankers by name (R1-6). The policy names the model, and the settings say where it is."""

import asyncio
from pathlib import Path

from sourcebound.contracts.ports import Reranker
from sourcebound.errors import ConfigurationError

NEXT = "Set SOURCEBOUND_RERANKER to the model's folder, as onnx:FOLDER."


async def open_reranker(setting: str | None) -> Reranker | None:
    """Open the reranker of the settings.

    Args:
        setting: `onnx:FOLDER`, or None.

    Returns:
        The reranker, loaded; None without a setting.

    Raises:
        ConfigurationError: The setting has another form (`RERANKER_UNKNOWN`).
        ModelError: A file of the folder is missing or damaged.
    """
    if setting is None:
        return None
    provider, _, folder = setting.partition(":")
    if provider != "onnx" or not folder:
        raise ConfigurationError(f"There is no reranker called {setting!r}.", NEXT, code="RERANKER_UNKNOWN")
    from sourcebound.models.onnx.reranker import OnnxReranker

    return await asyncio.to_thread(OnnxReranker, Path(folder))


def check_reranker(reranker: Reranker | None, name: str) -> Reranker:
    """Return a reranker if it is the one that a policy names.

    Raises:
        ConfigurationError: It is another one, or there is none (`RERANKER_MISMATCH`).
    """
    if reranker is not None and reranker.name == name:
        return reranker
    found = f"the reranker here is {reranker.name}" if reranker else "no reranker is set"
    raise ConfigurationError(
        f"The policy has candidates ordered by {name}, and {found}.", NEXT, code="RERANKER_MISMATCH"
    )
