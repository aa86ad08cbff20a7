"""Settings.

Environment variables (`SOURCEBOUND_…`, and the customary `DATABASE_URL`, `OPENAI_API_KEY`, `OLLAMA_HOST`).
"""

import os
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


def default_home() -> Path:
    """Where the embedded database lives unless `SOURCEBOUND_HOME` says otherwise.

    PostgreSQL does not run as root: as root its files belong to another account, which must be able to reach them, so
    they cannot stand under root's own home.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/sourcebound")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sourcebound"


class Settings(BaseSettings):
    """All settings of a process; nothing here is ever written into a run's state but the names of model and policy."""

    model_config = SettingsConfigDict(env_prefix="SOURCEBOUND_", frozen=True, extra="ignore", populate_by_name=True)

    home: Path = Field(default_factory=default_home)
    """Folder of the embedded database."""
    database_url: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("DATABASE_URL", "SOURCEBOUND_DATABASE_URL")
    )
    """A PostgreSQL of your own; it always wins over the embedded one and is used exactly as it is written."""
    collection: str = "default"
    """The collection that `ingest` fills and `ask` searches when none is named."""
    embedder: str = "auto"
    """`auto`, `minilm`, `lexical`, `ollama:MODEL` or `openai:MODEL`; auto is minilm where its weights are installed."""
    language: str = "english"
    """The language of collections that are made: a text search configuration of the server; `simple` for others."""
    durability: Literal["async", "sync"] = "async"
    """When a checkpoint is stored: with what depends on it, or `sync`, before the next node begins."""
    model: str = "extractive"
    """The generator: `extractive`, `ollama:MODEL` or `openai:MODEL`."""
    models_file: Path | None = None
    """A model registry of your own, in the form of `models/registry.toml`; what it names goes before ours."""
    policy: str | None = None
    """A released policy's name or the path of a policy file; the one made for the collection's embedder when unset."""
    policies: Path | None = None
    """A folder of policies of your own, each in a file that bears its name; their lock stands there too."""
    signing_key: Path | None = None
    """The private key of receipts; `keys/receipts.pem` under `home` when unset."""
    max_file_megabytes: int = Field(default=200, gt=0)
    """Files over this size are skipped, with a message."""
    parse_seconds: float = Field(default=30, gt=0)
    """A file that is not read in this time, or not cut into chunks in as much again, is skipped, with a message."""
    parse_memory_megabytes: int = Field(default=2048, ge=256)
    """A file that needs more memory than this to be read is skipped, with a message."""
    openai_api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("OPENAI_API_KEY"))
    openai_base_url: str | None = Field(default=None, validation_alias=AliasChoices("OPENAI_BASE_URL"))
    ollama_host: str = Field(default="http://127.0.0.1:11434", validation_alias=AliasChoices("OLLAMA_HOST"), repr=False)
    """May hold a user and a password."""

    @property
    def signing_key_file(self) -> Path:
        """Where the private key of receipts is, or would be."""
        return (self.signing_key or self.home / "keys" / "receipts.pem").expanduser()


@cache
def get_settings() -> Settings:
    """The process's settings, read once."""
    return Settings()
