"""Settings from environment variables.

Their names are `SOURCEBOUND_…` and the customary `DATABASE_URL`, `OPENAI_API_KEY` and `OLLAMA_HOST`.
"""

import os
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


def default_home() -> Path:
    """Return the folder of the embedded database if `SOURCEBOUND_HOME` is not set.

    PostgreSQL does not run as root. If this process does, the database's files belong to another account, which must be
    able to reach them, so they cannot be under root's own home.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/sourcebound")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sourcebound"


class Settings(BaseSettings):
    """All settings of a process. Only the names of model and policy are ever written into a run's state."""

    model_config = SettingsConfigDict(env_prefix="SOURCEBOUND_", frozen=True, extra="ignore", populate_by_name=True)

    home: Path = Field(default_factory=default_home)
    """The folder of the embedded database."""
    database_url: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("DATABASE_URL", "SOURCEBOUND_DATABASE_URL")
    )
    """Your own PostgreSQL server. It takes precedence over the embedded one, and the URL is used unchanged."""
    collection: str = "default"
    """The default collection of `ingest` and `ask`."""
    embedder: str = "auto"
    """`auto`, `minilm`, `lexical`, `ollama:MODEL` or `openai:MODEL`; auto is minilm if its weights are installed."""
    reranker: str | None = None
    """`onnx:FOLDER`, the model that orders candidates under a policy that names it."""
    language: str = "english"
    """The language of new collections: a text search configuration of the server, or `simple` for other languages."""
    durability: Literal["async", "sync"] = "async"
    """The time of storing a checkpoint: `async`, with the data that depends on it; `sync`, before the next node."""
    model: str = "extractive"
    """The generator: `extractive`, `local:MODEL`, `ollama:MODEL` or `openai:MODEL`."""
    models_file: Path | None = None
    """Your own model registry, in the format of `models/registry.toml`. Its entries take precedence over ours."""
    policy: str | None = None
    """A released policy's name or the path of a policy file; by default the policy for the collection's embedder."""
    policies: Path | None = None
    """The folder of your own policies and their lock. Each policy is in a file of its name."""
    signing_key: Path | None = None
    """The private key of receipts; `keys/receipts.pem` under `home` when unset."""
    heads: Path | None = None
    """A file for signed heads of the audit chain, on a disk that the owner of the database does not write to."""
    heads_every: int = Field(default=100, gt=0)
    """The number of audit records between two signed heads."""
    max_file_megabytes: int = Field(default=200, gt=0)
    """Larger files are skipped, with a message."""
    keep_file_megabytes: int = Field(default=50, ge=0)
    """PDFs up to this size are kept with their documents, so that pages are shown as images. 0 keeps none."""
    parse_seconds: float = Field(default=30, gt=0)
    """The time limit for parsing a file, and again for chunking it. A slower file is skipped, with a message."""
    parse_memory_megabytes: int = Field(default=2048, ge=256)
    """The memory limit for parsing a file. A file that needs more is skipped, with a message."""
    ocr: bool = False
    """Whether the text of PDF pages without a text layer is recognized in their pictures (extra `ocr`)."""
    ocr_seconds: float = Field(default=300, gt=0)
    """The time limit for parsing a file with `ocr`, in place of `parse_seconds`."""
    max_questions: int = Field(default=16, gt=0)
    """The most questions that `serve` answers at once. It refuses further ones with status 429."""
    max_request_megabytes: int = Field(default=4, gt=0)
    """The largest body of a request to `serve`."""
    max_uploads: int = Field(default=2, gt=0)
    """The most uploads that `serve` receives and ingests at once. It refuses further ones with status 429."""
    max_upload_megabytes: int = Field(default=200, gt=0)
    """The largest upload, with all its files."""
    ingest_database_url: SecretStr | None = None
    """Your own database for uploads, with the account of the owner of its tables. Default: `database_url`."""
    log_format: Literal["text", "json"] = "text"
    """The format of the log on stderr: lines of text, or one JSON object a line."""
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    """The least level of our own log records; a node's line is `info`. Default: `info` for `serve`, else `warning`."""
    oidc_issuer: str | None = None
    """The issuer of bearer tokens (`iss`) that `serve` accepts next to keys. None accepts none."""
    oidc_audience: str | None = None
    """The audience (`aud`) that a token must name."""
    oidc_keys_url: str | None = None
    """The address of the issuer's public keys (JWKS). None: the one in its description (OpenID Connect Discovery)."""
    oidc_algorithms: str = "RS256,ES256"
    """The algorithms of signatures that are accepted."""
    oidc_scope_claim: str = "scope"
    """The claim with the rights of the holder: `ask`, `read` and `ingest` after the prefix."""
    oidc_scope_prefix: str = "sourcebound:"
    """The beginning of the scopes that are meant for this server."""
    oidc_collections_claim: str = "sourcebound_collections"
    """The claim with the collections of the holder: names, or `*` for all. Without it, a token opens none."""
    oidc_labels_claim: str = "sourcebound_labels"
    """The claim with the labels of the holder: names, or `*` for every document. Without it, a token opens documents
    without labels only."""
    openai_api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("OPENAI_API_KEY"))
    openai_base_url: str | None = Field(default=None, validation_alias=AliasChoices("OPENAI_BASE_URL"))
    ollama_host: str = Field(default="http://127.0.0.1:11434", validation_alias=AliasChoices("OLLAMA_HOST"), repr=False)
    """The address of the Ollama server. It may contain a user and a password."""

    @property
    def signing_key_file(self) -> Path:
        """The path of the private key of receipts, which may not exist yet."""
        return (self.signing_key or self.home / "keys" / "receipts.pem").expanduser()


@cache
def get_settings() -> Settings:
    """Return the process's settings, which are read once."""
    return Settings()
