"""The models of a process: looked up by name, examined and opened once, closed at the end (contract R4-2, R4-4)."""

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
from sourcebound.models.faults import ServerWording
from sourcebound.models.generators import ChatGenerator
from sourcebound.models.local.added import check_file, registry_file
from sourcebound.models.profiles import Registry
from sourcebound.models.servers import ServerFacts, examine_ollama, examine_openai
from sourcebound.models.urls import credentials, ollama_url, openai_url, without_credentials
from sourcebound.settings import Settings

OPENAI_URL: Final = "https://api.openai.com/v1"
REHEARSAL_POLICY: Final = "SOURCEBOUND_SENTENCES_V2"
"""The policy of rehearsals. Its requests use every feature that a profile can allow."""
logger = logging.getLogger(__name__)


class Models:
    """All models that a run may name.

    Args:
        settings: The path of the user's registry, and the addresses and the key of the servers.

    Raises:
        ConfigurationError: The user's registry is invalid.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        own_server = (settings.openai_base_url or OPENAI_URL).rstrip("/") != OPENAI_URL
        self._registry = Registry(settings.models_file, added=registry_file(settings.home), own_server=own_server)
        self._facts: dict[str, ServerFacts] = {}
        self._opened: dict[str, ChatGenerator] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def profiles(self) -> tuple[ModelProfile, ...]:
        """Return the profiles of all models in our registry and the user's."""
        return self._registry.profiles

    def profile(self, name: str) -> ModelProfile:
        """Return the profile of a model, with conservative defaults if no registry names it.

        Raises:
            ConfigurationError: There is no such model.
        """
        return self._registry.find(name)

    def check(self, name: str, policy: Policy) -> None:
        """Check that a model's context window can hold the prompts of a policy (R4-6).

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
                "Choose another model, or a policy with a smaller budget. If the model's window is larger, set its "
                "context_window in a profile.",
                code="CONTEXT_WINDOW",
            )

    async def open(self, name: str) -> AnswerModel:
        """Return the generator of a model.

        The first call examines its server, and rehearses a request without sending it.

        Args:
            name: `extractive`, `local:MODEL`, `ollama:MODEL` or `openai:MODEL`.

        Raises:
            ConfigurationError: There is no such model, no valid key, or the model does not accept temperature 0.0.
            ModelError: Its server cannot be reached.
        """
        if name in self._opened:
            return self._opened[name]
        async with self._locks.setdefault(name, asyncio.Lock()):  # a hanging server blocks no other model
            if name not in self._opened:
                profile = self.profile(name)
                await self.examine(name)
                generator = await asyncio.to_thread(self._make_generator, profile)
                _check_rehearsal(profile, await generator.rehearse(load_shipped_policy(REHEARSAL_POLICY)))
                if not profile.known:
                    logger.warning("%s", describe_unknown(profile))
                self._opened[name] = generator
        return self._opened[name]

    async def examine(self, name: str) -> ServerFacts:
        """Examine the server of a model now.

        Raises:
            ConfigurationError: There is no such model, or no valid key.
            ModelError: The server cannot be reached.
        """
        self._facts[name] = facts = await self._examine_server(self.profile(name))
        return facts

    async def close(self) -> None:
        """Close all connections."""
        while self._opened:
            await self._opened.popitem()[1].close()

    async def _examine_server(self, profile: ModelProfile) -> ServerFacts:
        match profile.provider:
            case "extractive":
                return ServerFacts()
            case "local":
                return ServerFacts(await asyncio.to_thread(check_file, profile))
            case "ollama":
                url = self._url(profile)
                return await examine_ollama(
                    profile, without_credentials(url), credentials(url), self._make_wording(profile)
                )
            case "openai":
                return await examine_openai(
                    profile, self._url(profile), self._key(profile), self._make_wording(profile)
                )

    def _make_generator(self, profile: ModelProfile) -> ChatGenerator:
        """Load the provider's client, which takes a second, and create the generator."""
        match profile.provider:
            case "extractive":
                from sourcebound.models.extractive import ExtractiveBackend

                return ChatGenerator(profile, ExtractiveBackend(), ServerWording())
            case "local":
                from sourcebound.models.local.backend import LocalBackend

                return ChatGenerator(profile, LocalBackend(profile), self._make_wording(profile))
            case "ollama":
                from sourcebound.models.ollama import OllamaBackend

                return ChatGenerator(profile, OllamaBackend(profile, self._url(profile)), self._make_wording(profile))
            case "openai":
                from sourcebound.models.openai import OpenAIBackend

                backend = OpenAIBackend(profile, self._url(profile), self._key(profile))
                return ChatGenerator(profile, backend, self._make_wording(profile))

    def _url(self, profile: ModelProfile) -> str:
        """Return the address of a model's server.

        Raises:
            ConfigurationError: The setting is not a valid address.
        """
        setting_name = (f"the base_url of {profile.name}",) if profile.base_url else ()
        if profile.provider == "ollama":
            return ollama_url(profile.base_url or self._settings.ollama_host, *setting_name)
        return openai_url(profile.base_url or self._settings.openai_base_url or OPENAI_URL, *setting_name)

    def _key(self, profile: ModelProfile) -> SecretStr | None:
        """Return the key for a model's server. OpenAI's own key is sent only to the server of the settings.

        Raises:
            ConfigurationError: There is no key, and the server is known to need one.
        """
        variable = profile.api_key_env or "OPENAI_API_KEY"
        if profile.api_key_env:
            value = os.environ.get(profile.api_key_env)
            key = SecretStr(value) if value else None
        else:
            key = None if profile.base_url else self._settings.openai_api_key
        if not (key and key.get_secret_value()) and (profile.api_key_env or self._url(profile) == OPENAI_URL):
            raise ConfigurationError(
                f"{profile.name} needs a key, and no key is set.", f"Set {variable}.", code="NO_KEY"
            )
        return key

    def _make_wording(self, profile: ModelProfile) -> ServerWording:
        if profile.provider == "local":
            return ServerWording(when_unreachable="try again; if its server dies again, choose a smaller model")
        address = without_credentials(self._url(profile))
        if profile.provider == "ollama":
            setting = "its base_url" if profile.base_url else "OLLAMA_HOST"
            return ServerWording(
                address,
                when_unreachable=f"start it with `ollama serve`, or correct {setting}",
                when_unauthorised="put user and password into OLLAMA_HOST as http://user:password@host, and remove "
                "base_url from the profile",
                when_unknown=f"run `ollama pull {profile.model}`",
            )
        setting = "its base_url" if profile.base_url else "OPENAI_BASE_URL"
        return ServerWording(
            address,
            when_unreachable=f"check the network and {setting}",
            when_unauthorised=f"set {profile.api_key_env or 'OPENAI_API_KEY'} to a valid key",
            when_unknown="choose one of its models; if it serves this one under another name, set `listed = false` in "
            "the model's profile",
        )


def describe_unknown(profile: ModelProfile) -> str:
    """Return the notice about the assumed values of a model that is in no registry."""
    seed, schema = "a" if profile.seed else "no", "a" if profile.structured_output else "no"
    return (
        f"{profile.name} is in no model registry. Assumed values: {profile.wire}, a window of {profile.context_window} "
        f"tokens, temperature 0, {seed} seed, {schema} JSON schema. "
        "To change them, add a profile to the file of SOURCEBOUND_MODELS_FILE."
    )


def _check_rehearsal(profile: ModelProfile, changed: Sequence[str]) -> None:
    if not changed:
        return
    if "temperature" in changed:
        raise ConfigurationError(
            f"{profile.name} does not accept temperature 0.0.",
            'Choose another model, or set temperature = "unsupported" in its profile. Every answer then records that.',
            code="TEMPERATURE_UNSUPPORTED",
        )
    raise ConfigurationError(
        f"the client library cannot make the request that the contract requires: it changes {', '.join(changed)}.",
        f"Correct the profile of {profile.name}, or install the versions of requirements/runtime.lock.",
        code="REQUEST_ALTERED",
    )
