"""The one form in which a JSON value is hashed or signed.

Keys sorted, no spaces, UTF-8 without escapes, numbers as Python writes them.
"""

import hashlib
import json


def canonical_json(value: object) -> bytes:
    """A JSON value in that form.

    Args:
        value: Texts, numbers, booleans, None, and lists and dicts of them.

    Raises:
        ValueError: A number is not finite, or a text holds a lone surrogate.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def text_sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
