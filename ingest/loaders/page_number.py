"""The texts that are a page number alone, in the words of the supported languages. Pure."""

import re
from typing import Final

_DIGIT: Final = re.compile(r"\d")
_PAGE_NUMBER: Final = re.compile(
    r"(?:\d|[\s|·•:,()\[\]/–—-]|p\s?a\s?g\s?e|p\.|seite|s\.|p[aá]gina|p[aá]g\.|blatt|sheet|of|von|de|di|sur)+",
    re.IGNORECASE,
)
"""Digits, page words and the marks around them. `P a g e` is what Word writes. No two alternatives begin one text."""


def is_page_number(text: str) -> bool:
    """Check whether a text is a page number alone, such as `3`, `Page 3 of 12` or `Seite 3/12`.

    Args:
        text: A line, or a part of it. A part number (`P-101`) or a step (`Step 2`) is no page number.
    """
    return bool(_DIGIT.search(text)) and bool(_PAGE_NUMBER.fullmatch(text))
