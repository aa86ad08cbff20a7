"""R5P-8: signs the end of the audit chain at an interval, into a file outside the database."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sourcebound.contracts.audit.hash_chain import Link
from sourcebound.contracts.receipt.anchors import seal_head
from sourcebound.errors import ConfigurationError
from sourcebound.store.audit.signing_key import SigningKey

logger: Final = logging.getLogger("sourcebound.audit")


class SignedHeads:
    """The file of signed heads.

    A head that cannot be signed or written is an entry of the operator's log. It fails no run, because the record is
    stored.

    Args:
        path: The file, to which lines are appended.
        key_file: The signing key of the installation.
        every: The number of records between two heads.
    """

    def __init__(self, path: Path, key_file: Path, every: int) -> None:
        self._path = path
        self._key_file = key_file
        self._every = every
        self._key: SigningKey | None = None

    def note(self, end: Link) -> None:
        """Sign the end of the chain if an interval ends with it."""
        if end.position % self._every:
            return
        try:
            self._key = self._key or SigningKey.load(self._key_file)
            line = seal_head(end, datetime.now(UTC).isoformat(timespec="seconds"), self._key)
            with self._path.open("ab") as file:
                file.write(line)
        except (ConfigurationError, OSError) as error:
            logger.error("the head of the audit chain at %d could not be signed: %s", end.position, error)
