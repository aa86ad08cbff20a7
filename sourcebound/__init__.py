"""Sourcebound answers questions from your own documents, and from nothing else, and can prove it.

The public names below are loaded on first use, so that importing this package is cheap and the contracts stay pure.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcebound.contracts.presentation.render import present as present
    from sourcebound.contracts.response.public import PublicResponse as PublicResponse
    from sourcebound.contracts.state import AskInput as AskInput
    from sourcebound.contracts.state import RunContext as RunContext
    from sourcebound.contracts.validation.firewall import check_answer as check_answer
    from sourcebound.errors import SourceboundError as SourceboundError
    from sourcebound.graph.engine import Engine as Engine
    from sourcebound.graph.integrations.node import as_node as as_node
    from sourcebound.graph.integrations.retriever import as_retriever as as_retriever
    from sourcebound.graph.integrations.sync_engine import SyncEngine as SyncEngine
    from sourcebound.graph.integrations.tool import as_tool as as_tool
    from sourcebound.settings import Settings as Settings
    from sourcebound.store.search.candidate_tables import bundles_from_table as bundles_from_table

_HOMES = {
    "AskInput": "sourcebound.contracts.state",
    "Engine": "sourcebound.graph.engine",
    "PublicResponse": "sourcebound.contracts.response.public",
    "RunContext": "sourcebound.contracts.state",
    "Settings": "sourcebound.settings",
    "SourceboundError": "sourcebound.errors",
    "SyncEngine": "sourcebound.graph.integrations.sync_engine",
    "as_node": "sourcebound.graph.integrations.node",
    "as_retriever": "sourcebound.graph.integrations.retriever",
    "as_tool": "sourcebound.graph.integrations.tool",
    "bundles_from_table": "sourcebound.store.search.candidate_tables",
    "check_answer": "sourcebound.contracts.validation.firewall",
    "present": "sourcebound.contracts.presentation.render",
}

__all__ = [
    "AskInput",
    "Engine",
    "PublicResponse",
    "RunContext",
    "Settings",
    "SourceboundError",
    "SyncEngine",
    "as_node",
    "as_retriever",
    "as_tool",
    "bundles_from_table",
    "check_answer",
    "present",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'sourcebound' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
