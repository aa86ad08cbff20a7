"""Shared set-up: property tests draw the same examples on every machine, and no test sees the developer's settings."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

pytest_plugins = [
    "support.clauses",
    "support.loading",
    "support.processes.databases",
    "support.placing",
    "support.processes.commands",
    "support.processes.model_servers",
    "support.processes.llama_server",
    "support.replaying",
    "support.processes.studio",
    "support.processes.http_server",
    "support.processes.browser",
]

FOREIGN = (
    "SOURCEBOUND_",
    "DATABASE_URL",
    "PG",
    "OPENAI_",
    "OLLAMA_",
    "LANGCHAIN_",
    "LANGGRAPH_",
    "LANGSMITH_",
    "XDG_DATA_HOME",
)

# a shell ignores it in what it starts in the background, and so would each process of a test
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def own_environment() -> Iterator[None]:
    """Remove every variable that could lead a test to a user's database, and make the default home unusable."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN)]:
            patch.delenv(name)
        patch.setenv("SOURCEBOUND_HOME", "/dev/null/no-test-uses-the-default-home")
        yield
