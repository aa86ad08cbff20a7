"""The Ed25519 key that signs receipts (contract CP-8): made once, kept in one file, never replaced.

The private key is PKCS #8 in PEM, which openssl reads too. Nobody but its owner may read it: a key that others can read
signs for them as well.
"""

import hashlib
import os
import stat
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from sourcebound.errors import ConfigurationError

SCHEME: Final = "ed25519:"
EXPOSED: Final = stat.S_IRWXG | stat.S_IRWXO


class SigningKey:
    """A private key.

    Args:
        key: The key itself.
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def create(cls, path: Path) -> Self:
        """Makes a key and the file that holds it, with mode 0600.

        Raises:
            ConfigurationError: There is a file already, which stays as it is, or it cannot be written.
        """
        key = Ed25519PrivateKey.generate()
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_new(path, text)
        except FileExistsError as error:
            raise ConfigurationError(
                f"there is a file {path} already, and a key is never replaced.",
                "See `sourcebound keys show`, or name another file in SOURCEBOUND_SIGNING_KEY.",
                code="KEY_EXISTS",
            ) from error
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be written: {error.strerror}.", "Name another file in SOURCEBOUND_SIGNING_KEY."
            ) from error
        return cls(key)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads the key of a file.

        Raises:
            ConfigurationError: There is none, it is no Ed25519 key, or others than its owner can read it.
        """
        try:
            with path.open("rb") as file:
                mode, text = os.fstat(file.fileno()).st_mode, file.read()
            key = load_pem_private_key(text, password=None)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ConfigurationError(
                f"there is no signing key in {path}.", "Make one with `sourcebound keys init`.", code="NO_SIGNING_KEY"
            ) from error
        except OSError as error:
            raise _unusable(path, str(error.strerror)) from error
        except (ValueError, TypeError) as error:  # TypeError: it asks for a password
            raise _unusable(path, "it holds no private key in PEM without a password") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise _unusable(path, "its key is not of the kind Ed25519")
        if os.name == "posix" and mode & EXPOSED:
            raise ConfigurationError(
                f"{path} can be read by others than its owner (mode {stat.S_IMODE(mode):04o}).",
                f"Run `chmod 600 {path}`, if nobody else has read it; make another key if somebody may have.",
                code="KEY_EXPOSED",
            )
        return cls(key)

    @property
    def public_key(self) -> str:
        """`ed25519:` and 64 hexadecimal digits."""
        return SCHEME + self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, 64 bytes."""
        return self._key.sign(message)


def verify_signature(public_key: str, message: bytes, signature: bytes) -> bool:
    """Whether a signature of a message is by a key.

    Args:
        public_key: `ed25519:` and 64 hexadecimal digits.
        message: What was signed.
        signature: 64 bytes.
    """
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key.removeprefix(SCHEME)))
        key.verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """`sha256:` and the hexadecimal SHA-256 of the key's 32 bytes."""
    return "sha256:" + hashlib.sha256(bytes.fromhex(public_key.removeprefix(SCHEME))).hexdigest()


def _write_new(path: Path, text: bytes) -> None:
    """Writes a file that did not exist, whole or not at all; O_EXCL follows no link either."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise


def _unusable(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path} cannot be used as a signing key: {reason}.",
        "Name another file in SOURCEBOUND_SIGNING_KEY, or make a key with `sourcebound keys init`.",
        code="BAD_SIGNING_KEY",
    )
