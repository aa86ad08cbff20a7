"""The models of a process: found by name, looked at and opened once, closed at the end (contract R4-2, R4-4)."""

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import Final

from pydantic import SecretStr

from sourcebound.contracts.execution.model_profile import ModelProfile, check_window
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModel
from sourcebound.errors import ConfigurationError
from sourcebound.models.faults import ServerWords
from sourcebound.models.generators import ChatGenerator
from sourcebound.models.profiles import Registry
from sourcebound.models.servers import ServerFacts, examine_ollama, examine_openai
from sourcebound.models.urls import credentials, ollama_url, openai_url, without_credentials
from sourcebound.settings import Settings

OPENAI_URL: Final = "https://api.openai.com/v1"
REHEARSED: Final = "SOURCEBOUND_SENTENCES_V1"
"""A policy whose requests use everything that a profile can allow."""
logger = logging.getLogger(__name__)


class Models:
    """Every model that a run may name.

    Args:
        settings: The model registry of the user, and the addresses and the key of the servers.

    Raises:
        ConfigurationError: The user's registry is not one.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        own_server = (settings.openai_base_url or OPENAI_URL).rstrip("/") != OPENAI_URL
        self._registry = Registry(settings.models_file, own_server=own_server)
        self._facts: dict[str, ServerFacts] = {}
        self._opened: dict[str, ChatGenerator] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def profiles(self) -> tuple[ModelProfile, ...]:
        """The models of our registry and of the user's."""
        return self._registry.profiles

    def profile(self, name: str) -> ModelProfile:
        """The profile of a model, a conservative one where no registry names it.

        Raises:
            ConfigurationError: The name is not that of a model.
        """
        return self._registry.find(name)

    def check(self, name: str, policy: Policy) -> None:
        """Makes sure that a model can hold the prompts of a policy (R4-6).

        Raises:
            ConfigurationError: There is no such model, or its context window is smaller than the policy's budget.
        """
        profile, facts = self.profile(name), self._facts.get(name)
        if facts and facts.context_window and profile.context_window:
            window = min(profile.context_window, facts.context_window)
            profile = profile.model_copy(update={"context_window": window})
        if problem := check_window(profile, policy):
            raise ConfigurationError(
                f"{problem}.",
                "Choose another model, or a policy with a smaller budget; if the model can do more, give its "
                "context_window in a profile.",
                code="CONTEXT_WINDOW",
            )

    async def open(self, name: str) -> AnswerModel:
        """The generator of a model, ready to be asked.

        The first time, its server is looked at, and a request is rehearsed without being sent.

        Args:
            name: `extractive`, `ollama:MODEL` or `openai:MODEL`.

        Raises:
            ConfigurationError: There is no such model, no key or a wrong one, or it does not take temperature 0.0.
            ModelError: Its server cannot be reached.
        """
        if name in self._opened:
            return self._opened[name]
        async with self._locks.setdefault(name, asyncio.Lock()):  # one that hangs holds up no other
            if name not in self._opened:
                profile = self.profile(name)
                await self.examine(name)
                generator = await asyncio.to_thread(self._build, profile)
                _check_rehearsal(profile, await generator.rehearse(load_shipped_policy(REHEARSED)))
                if not profile.known:
                    logger.warning("%s", describe_unknown(profile))
                self._opened[name] = generator
        return self._opened[name]

    async def examine(self, name: str) -> ServerFacts:
        """Looks at the server of a model now.

        Raises:
            ConfigurationError: There is no such model, or no key or a wrong one.
            ModelError: The server cannot be reached.
        """
        self._facts[name] = facts = await self._look(self.profile(name))
        return facts

    async def close(self) -> None:
        """Closes every connection."""
        while self._opened:
            await self._opened.popitem()[1].close()

    async def _look(self, profile: ModelProfile) -> ServerFacts:
        match profile.provider:
            case "extractive":
                return ServerFacts()
            case "ollama":
                url = self._url(profile)
                return await examine_ollama(profile, without_credentials(url), credentials(url), self._words(profile))
            case "openai":
                return await examine_openai(profile, self._url(profile), self._key(profile), self._words(profile))

    def _build(self, profile: ModelProfile) -> ChatGenerator:
        """Loads the provider's client, which takes a second, and makes the generator."""
        match profile.provider:
            case "extractive":
                from sourcebound.models.extractive import ExtractiveBackend

                return ChatGenerator(profile, ExtractiveBackend(), ServerWords())
            case "ollama":
                from sourcebound.models.ollama import OllamaBackend

                return ChatGenerator(profile, OllamaBackend(profile, self._url(profile)), self._words(profile))
            case "openai":
                from sourcebound.models.openai import OpenAIBackend

                backend = OpenAIBackend(profile, self._url(profile), self._key(profile))
                return ChatGenerator(profile, backend, self._words(profile))

    def _url(self, profile: ModelProfile) -> str:
        """The address of a model's server.

        Raises:
            ConfigurationError: What is set is not an address.
        """
        where = (f"the base_url of {profile.name}",) if profile.base_url else ()
        if profile.provider == "ollama":
            return ollama_url(profile.base_url or self._settings.ollama_host, *where)
        return openai_url(profile.base_url or self._settings.openai_base_url or OPENAI_URL, *where)

    def _key(self, profile: ModelProfile) -> SecretStr | None:
        """The key for a model's server; OpenAI's own goes nowhere else than the settings say.

        Raises:
            ConfigurationError: There is none and the server is known to need one.
        """
        variable = profile.api_key_env or "OPENAI_API_KEY"
        if profile.api_key_env:
            found = os.environ.get(profile.api_key_env)
            key = SecretStr(found) if found else None
        else:
            key = None if profile.base_url else self._settings.openai_api_key
        if not (key and key.get_secret_value()) and (profile.api_key_env or self._url(profile) == OPENAI_URL):
            raise ConfigurationError(
                f"{profile.name} needs a key and there is none.", f"Set {variable}.", code="NO_KEY"
            )
        return key

    def _words(self, profile: ModelProfile) -> ServerWords:
        address = without_credentials(self._url(profile))
        if profile.provider == "ollama":
            setting = "its base_url" if profile.base_url else "OLLAMA_HOST"
            return ServerWords(
                address,
                when_unreachable=f"start it with `ollama serve`, or correct {setting}",
                when_unauthorised="put user and password into OLLAMA_HOST as http://user:password@host, and leave "
                "base_url out of the profile",
                when_unknown=f"run `ollama pull {profile.model}`",
            )
        setting = "its base_url" if profile.base_url else "OPENAI_BASE_URL"
        return ServerWords(
            address,
            when_unreachable=f"check the network and {setting}",
            when_unauthorised=f"set {profile.api_key_env or 'OPENAI_API_KEY'} to a valid key",
            when_unknown="choose one of its models; if it serves this one under another name, say `listed = false` in "
            "the model's profile",
        )


def describe_unknown(profile: ModelProfile) -> str:
    """The notice for a model that no registry names: the values that are assumed of it."""
    seed, schema = "a" if profile.seed else "no", "a" if profile.structured_output else "no"
    return (
        f"{profile.name} is in no model registry; assumed: {profile.wire}, a window of {profile.context_window} "
        f"tokens, temperature 0, {seed} seed, {schema} JSON schema. "
        "Give it a profile in the file of SOURCEBOUND_MODELS_FILE to change that."
    )


def _check_rehearsal(profile: ModelProfile, changed: Sequence[str]) -> None:
    if not changed:
        return
    if "temperature" in changed:
        raise ConfigurationError(
            f"{profile.name} does not take temperature 0.0.",
            'Choose another model, or say temperature = "unsupported" in its profile: every answer then records it.',
            code="TEMPERATURE_UNSUPPORTED",
        )
    raise ConfigurationError(
        f"the client library cannot make the request that the contract asks for: it changes {', '.join(changed)}.",
        f"Correct the profile of {profile.name}, or install the versions of requirements/runtime.lock.",
        code="REQUEST_ALTERED",
    )
