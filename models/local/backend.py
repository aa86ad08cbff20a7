"""A local model as a chat backend: OpenAI's protocol to a llama.cpp server of this process (R4-2, R4-3)."""

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path

from pydantic import SecretStr

from sourcebound.contracts.execution.call import Call
from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.execution.reply import Reply
from sourcebound.contracts.prompt.build import Message
from sourcebound.models.local.server import LlamaServer
from sourcebound.models.openai import OpenAIBackend


class LocalBackend:
    """One model file with its server, which starts with the backend and again if it has died.

    Args:
        profile: The model, with its file.

    Raises:
        ConfigurationError: llama.cpp is not installed.
        ModelError: llama.cpp cannot serve the file.
    """

    faults = OpenAIBackend.faults
    timeouts = OpenAIBackend.timeouts

    def __init__(self, profile: ModelProfile) -> None:
        self._profile = profile
        self._starting = asyncio.Lock()
        self._server, self._client = self._open()

    def _open(self) -> tuple[LlamaServer, OpenAIBackend]:
        profile, key = self._profile, secrets.token_urlsafe(32)
        assert profile.file is not None
        server = LlamaServer(Path(profile.file), profile.model, profile.context_window or 0, api_key=key)
        own = profile.model_copy(update={"base_url": server.url})
        return server, OpenAIBackend(own, server.url, SecretStr(key), trust_environment=False)

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        """Make one request.

        Raises:
            ModelError: The server has died, and does not start again.
        """
        async with self._starting:
            if not self._server.is_running:
                await self.close()
                self._server, self._client = await asyncio.to_thread(self._open)
        return await self._client.send(call, messages)

    async def close(self) -> None:
        """Close the connections and end the server."""
        await self._client.close()
        await asyncio.to_thread(self._server.close)
