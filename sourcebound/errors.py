"""Faults: the exceptions that an edge (database, model, file, command line) raises when it cannot do its work.

A violation is data and a refusal is a success. Neither is ever an exception (contract S-3). All others form this tree:

    SourceboundError
    ├── UsageError              the request cannot be carried out as stated                      exit 2
    │   ├── ConfigurationError  a setting, policy or model name is wrong or missing
    │   └── RequestError        a question, filter, bundle or path is invalid
    ├── DocumentError           one file cannot be ingested; the rest of the batch continues
    ├── StoreError              PostgreSQL is unreachable, too old, without pgvector, full …     exit 1
    └── ModelError              a model or embedder could not be loaded or did not answer        exit 1

Every error has a stable `code` and one sentence about what happened. Its `next_step` says what to do about it.
"""

from typing import ClassVar, Final

DATA_ERRORS: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
)
"""Errors that damaged or altered data causes in code that reads it."""
TOO_MANY_CLIENTS: Final = "TOO_MANY_CLIENTS"
"""The code of a database that accepts no further connection."""


class SourceboundError(RuntimeError):
    """The base class of every fault of this package.

    Args:
        message: What happened, in one sentence.
        next_step: What the user can do about it, in one sentence or one command.
        code: The stable failure code; the class's own when omitted.
        detail: What another program said, such as the database. It is for the operator, and `str()` leaves it out.
    """

    code: ClassVar[str] = "FAULT"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, next_step: str = "", *, code: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.detail = detail
        self.failure_code = code or type(self).code

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()


class UsageError(SourceboundError):
    """The request cannot be carried out as stated."""

    code = "BAD_USAGE"
    exit_code = 2


class ConfigurationError(UsageError):
    """A setting, a policy or a model name is wrong or missing."""

    code = "BAD_CONFIGURATION"


class RequestError(UsageError):
    """A question, a filter, a bundle or a path is invalid."""

    code = "BAD_REQUEST"


class DocumentError(SourceboundError):
    """One file cannot be ingested. The rest of the batch continues."""

    code = "DOCUMENT_UNREADABLE"


class StoreError(SourceboundError):
    """PostgreSQL is unreachable, too old, lacks pgvector or refused a statement."""

    code = "STORE_UNAVAILABLE"

    @property
    def is_unavailable(self) -> bool:
        """Whether the database does not answer, so that it is unknown what it has stored."""
        return self.failure_code in (self.code, TOO_MANY_CLIENTS)


class ModelError(SourceboundError):
    """A model or an embedder could not be loaded or did not answer."""

    code = "MODEL_UNAVAILABLE"
