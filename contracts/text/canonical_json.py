"""The canonical form in which a JSON value is hashed or signed.

Keys are sorted, there are no spaces, the text is UTF-8 without escapes, and numbers are as Python writes them.
"""

import hashlib
import json


def canonical_json(value: object) -> bytes:
    """Return a JSON value in canonical form.

    Args:
        value: A text, number, boolean or None, or lists and dicts of them.

    Raises:
        ValueError: A number is not finite, or a text holds a lone surrogate.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
