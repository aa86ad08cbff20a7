"""`sourcebound mcp`: the MCP server on stdin and stdout."""

from importlib.util import find_spec

from sourcebound.cli.console import run_async
from sourcebound.errors import ConfigurationError


def mcp() -> None:
    """Serve the tools ask, search, get_evidence and check_answer to an MCP client on stdin and stdout.

    `serve` offers the same tools over HTTP at /mcp. Needs the extra `mcp`.
    """
    if find_spec("mcp") is None:
        raise ConfigurationError(
            "the MCP server is not installed.", "Install it: pip install 'sourcebound[mcp]'", code="EXTRA_MISSING"
        )
    run_async(_serve, interrupted="")


async def _serve() -> None:
    from sourcebound.api.asking import Asking
    from sourcebound.api.mcp_server import McpTools
    from sourcebound.api.metrics import Metrics
    from sourcebound.api.server import Server
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        engine = Engine(services)
        metrics = Metrics()
        asking = Asking(engine, services.settings.max_questions, metrics)
        try:
            await McpTools(Server(services, engine, asking, metrics)).mcp.run_stdio_async()
        finally:
            await asking.close()
