"""The model registry: profiles by name, ours and the user's (contract R4-2, R4-4).

A model of a known provider that is in no registry gets that provider's conservative defaults, and its profile says so.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from sourcebound.contracts.execution.model_profile import ModelProfile, Wire
from sourcebound.errors import ConfigurationError

PROVIDERS: Final = ("extractive", "local", "ollama", "openai")
WITH_A_SERVER: Final = ("ollama", "openai")
"""The providers whose models need no profile."""
Tables = Mapping[str, Mapping[str, Any]]


class Registry:
    """Profiles by name.

    Args:
        path: The user's registry, in the format of `registry.toml`. Its entries take precedence over ours.
        added: The registry of added local models. The user's entries take precedence.
        own_server: Whether `OPENAI_BASE_URL` is a server other than OpenAI's.

    Raises:
        ConfigurationError: The file cannot be read, or is not a registry.
    """

    def __init__(self, path: Path | None = None, *, added: Path | None = None, own_server: bool = False) -> None:
        shipped = tomllib.loads((files(__package__) / "registry.toml").read_text("utf-8"))
        own = read_registry(path) if path else {}
        local = read_registry(added) if added and added.is_file() else {}
        self._defaults: Tables = {
            provider: {**shipped["providers"][provider], **own.get("providers", {}).get(provider, {})}
            for provider in PROVIDERS
        }
        self._models: Tables = {**shipped["models"], **local.get("models", {}), **own.get("models", {})}
        self._own_server = own_server
        self._path = path or added
        self.profiles = tuple(self._make_profile(name, known=True) for name in self._models)
        """The profiles of all models in our registry and the user's."""

    def find(self, name: str) -> ModelProfile:
        """Return the profile of a model.

        Args:
            name: `extractive`, `local:MODEL`, `ollama:MODEL` or `openai:MODEL`.

        Returns:
            Its profile. `known` is False if no registry names it.

        Raises:
            ConfigurationError: The name does not have that form.
        """
        provider, _, model = name.partition(":")
        if name in self._models or (model and provider in WITH_A_SERVER):
            return self._make_profile(name, known=name in self._models)
        if provider == "local":
            raise ConfigurationError(
                f"there is no local model {name!r}.",
                "Add one with `sourcebound models add FILE.gguf`. `sourcebound models list` shows those that you have.",
                code="UNKNOWN_MODEL",
            )
        raise ConfigurationError(
            f"there is no model {name!r}.",
            "Use extractive, local:MODEL, ollama:MODEL or openai:MODEL. `sourcebound models list` shows those with a "
            "profile.",
            code="UNKNOWN_MODEL",
        )

    def _make_profile(self, name: str, *, known: bool) -> ModelProfile:
        provider, _, model = name.partition(":")
        values: dict[str, Any] = {"context_window": None, **self._defaults.get(provider, {})}
        if not known and provider == "openai" and self._own_server:
            values["wire"] = Wire.CHAT_COMPLETIONS
        values |= {"provider": provider, "model": model or name, "known": known, **self._models.get(name, {})}
        try:
            profile = ModelProfile.model_validate(values)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, detail["loc"]))
            raise ConfigurationError(
                f"the profile of {name} in {self._path} is invalid: {where}: {detail['msg']}.",
                "Compare it with `sourcebound models show openai:gpt-4.1-mini`.",
                code="INVALID_PROFILE",
            ) from None
        if profile.base_url and "@" in profile.base_url:
            raise ConfigurationError(
                f"the base_url of {name} in {self._path} contains a user or a password.",
                "Remove them. api_key_env names the variable of a key, and OLLAMA_HOST may contain a password.",
                code="INVALID_PROFILE",
            )
        return profile


def read_registry(path: Path) -> dict[str, Any]:
    """Read a registry file.

    Args:
        path: A file in the format of `registry.toml`.

    Returns:
        Its tables.

    Raises:
        ConfigurationError: It cannot be read, or is not a registry.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigurationError(
            f"the model registry {path} cannot be read: {reason}.", "Correct SOURCEBOUND_MODELS_FILE or the file."
        ) from error
    tables = [content.get(part, {}) for part in ("providers", "models")]
    if set(content) - {"providers", "models"} or not all(_is_table_of_tables(table) for table in tables):
        raise ConfigurationError(
            f'the model registry {path} may contain only tables [models."provider:model"] and [providers.provider].',
            "Correct the tables of the file.",
            code="INVALID_PROFILE",
        )
    return content


def _is_table_of_tables(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, dict) for item in value.values())
