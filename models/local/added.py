"""The local models that a user has added: profiles in a registry file under the home folder."""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.policy.lock import toml_value
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.local.server import LlamaServer
from sourcebound.models.profiles import read_registry

FILE_NAME: Final = "models.toml"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
DEFAULT_WINDOW: Final = 8192
PROBE_TOKENS: Final = 512
PROBE_SECONDS: Final = 10.0
Profiles = dict[str, dict[str, Any]]


def registry_file(home: Path) -> Path:
    """Return the path of the registry of added models, which may not exist."""
    return home.expanduser() / FILE_NAME


def add_model(home: Path, path: Path, name: str | None = None, context_tokens: int | None = None) -> str:
    """Add a model file to the registry of the home folder. A model of the same name is replaced.

    Args:
        home: The home folder.
        path: A GGUF file, which stays where it is.
        name: The name of the model; by default the name of the file in small letters.
        context_tokens: The context window; by default 8192 or, if it is smaller, the window that the model knows.

    Returns:
        The name for runs: `local:NAME`.

    Raises:
        ConfigurationError: There is no such file, the name is not valid, or llama.cpp is not installed.
        ModelError: llama.cpp cannot serve the file.
    """
    path = path.expanduser().resolve()
    name = name or re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}.", "Name a GGUF file.", code="PATH_MISSING")
    if not NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is not a valid name for a model.",
            "Use --name with small letters, digits, dots, hyphens and underscores.",
            code="INVALID_NAME",
        )
    trained = _examine(path, name)
    window = context_tokens or min(trained or DEFAULT_WINDOW, DEFAULT_WINDOW)
    profile = {"file": str(path), "file_sha256": digest_file(path), "context_window": window}
    with _changed(home) as models:
        models[f"local:{name}"] = profile
    return f"local:{name}"


def remove_model(home: Path, name: str) -> None:
    """Remove a model from the registry of the home folder. Its file stays.

    Raises:
        ConfigurationError: There is no such model.
    """
    with _changed(home) as models:
        if models.pop(name, None) is None:
            raise ConfigurationError(
                f"there is no added model {name!r}.", "See `sourcebound models list`.", code="UNKNOWN_MODEL"
            )


def check_file(profile: ModelProfile) -> str:
    """Check that the file of a local model is the one that was added (R4-3).

    Args:
        profile: The model.

    Returns:
        The SHA-256 of the file.

    Raises:
        ConfigurationError: The file is missing, or has other content.
    """
    again = f"Put the file back, or run `sourcebound models add {profile.file} --name {profile.model}`."
    try:
        digest = digest_file(Path(profile.file or ""))
    except OSError:
        raise ConfigurationError(f"the file of {profile.name} cannot be read.", again, code="NO_MODEL") from None
    if digest != profile.file_sha256:
        raise ConfigurationError(f"the file of {profile.name} has changed.", again, code="MODEL_FILE_CHANGED")
    return digest


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _examine(path: Path, name: str) -> int | None:
    """Load the file once. Return the largest context window that the model was trained with, if it is known."""
    server = LlamaServer(path, name, PROBE_TOKENS)
    try:
        listing = httpx.get(f"{server.url}/models", timeout=PROBE_SECONDS, trust_env=False).json()
        trained = listing["data"][0].get("meta", {}).get("n_ctx_train")
    except (httpx.HTTPError, ValueError, LookupError, AttributeError) as error:
        raise ModelError(
            "llama.cpp does not list the model.", "Install the version of requirements/dev.lock.", detail=str(error)
        ) from error
    finally:
        server.close()
    return trained if isinstance(trained, int) else None


@contextmanager
def _changed(home: Path) -> Iterator[Profiles]:
    """Yield the added models for changes, and replace the file afterwards. Other processes wait."""
    file = registry_file(home)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(file.parent, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(file, error) from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        models = dict(read_registry(file).get("models", {})) if file.exists() else {}
        yield models
        temporary = file.with_name(f".{file.name}.{os.getpid()}.new")
        temporary.write_text(_render(models), "utf-8")
        temporary.replace(file)
    except OSError as error:
        raise _unwritable(file, error) from error
    finally:
        os.close(folder)


def _unwritable(file: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"the list of added models {file} cannot be written: {error.strerror}.",
        "Run the command as the owner of the home folder, or set SOURCEBOUND_HOME.",
        code="HOME_NOT_WRITABLE",
    )


def _render(models: Profiles) -> str:
    lines = ["# Written by `sourcebound models add` and `remove`.", "[models]"]
    for name, profile in sorted(models.items()):
        lines += [f"[models.{toml_value(name)}]", *(f"{key} = {toml_value(value)}" for key, value in profile.items())]
    return "\n".join(lines) + "\n"
