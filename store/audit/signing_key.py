"""The Ed25519 key that signs receipts (CP-8): created once, stored in one file, never replaced.

The private key is PKCS #8 in PEM, which openssl reads too. Only its owner may read it, because others could sign with
it.
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
        """Create a key and its file, with mode 0600.

        Raises:
            ConfigurationError: The file exists, and stays unchanged, or it cannot be written.
        """
        key = Ed25519PrivateKey.generate()
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_new(path, text)
        except FileExistsError as error:
            raise ConfigurationError(
                f"the file {path} exists already, and a key is never replaced.",
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
        """Load the key from a file.

        Raises:
            ConfigurationError: The file does not exist, holds no Ed25519 key, or is readable for other users.
        """
        try:
            with path.open("rb") as file:
                mode, text = os.fstat(file.fileno()).st_mode, file.read()
            key = load_pem_private_key(text, password=None)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ConfigurationError(
                f"there is no signing key in {path}.", "Create one with `sourcebound keys init`.", code="NO_SIGNING_KEY"
            ) from error
        except OSError as error:
            raise _unusable_key_error(path, str(error.strerror)) from error
        except (ValueError, TypeError) as error:  # TypeError: it asks for a password
            raise _unusable_key_error(path, "it holds no private key in PEM without a password") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise _unusable_key_error(path, "its key is not an Ed25519 key")
        if os.name == "posix" and mode & EXPOSED:
            raise ConfigurationError(
                f"{path} is readable for other users (mode {stat.S_IMODE(mode):04o}).",
                f"Run `chmod 600 {path}` if no other user has read it; otherwise create another key.",
                code="KEY_EXPOSED",
            )
        return cls(key)

    @property
    def public_key(self) -> str:
        """`ed25519:` and 64 hexadecimal digits."""
        return SCHEME + self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message, 64 bytes."""
        return self._key.sign(message)


def verify_signature(public_key: str, message: bytes, signature: bytes) -> bool:
    """Return whether a key made a signature of a message.

    Args:
        public_key: `ed25519:` and 64 hexadecimal digits.
        message: The signed message.
        signature: 64 bytes.
    """
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key.removeprefix(SCHEME)))
        key.verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """Return `sha256:` and the hexadecimal SHA-256 of the key's 32 bytes."""
    return "sha256:" + hashlib.sha256(bytes.fromhex(public_key.removeprefix(SCHEME))).hexdigest()


def _write_new(path: Path, text: bytes) -> None:
    """Write a new file, whole or not at all; O_EXCL follows no link."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise


def _unusable_key_error(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path} cannot be used as a signing key: {reason}.",
        "Name another file in SOURCEBOUND_SIGNING_KEY, or create a key with `sourcebound keys init`.",
        code="BAD_SIGNING_KEY",
    )
