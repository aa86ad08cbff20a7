"""The characters of a Word document that are named by their place in a font of symbols (`w:sym`)."""

from typing import Final

_PRIVATE: Final = 0xF000
_LAST: Final = 0xF0FF
_GREEK: Final = dict(zip("abcdefghiklmnopqrstuwxyzDFGLPQSWY", "αβχδεφγηικλμνοπθρστυωξψζΔΦΓΛΠΘΣΩΨ", strict=True))
_SIGNS: Final = {
    0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB2: "″",
    0xB3: "≥", 0xB4: "×", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xC6: "∅", 0xCE: "∈", 0xD2: "®",
    0xD3: "©", 0xD4: "™", 0xD6: "√", 0xD7: "·", 0xDB: "⇔", 0xDE: "⇒", 0xE5: "∑", 0xA2: "′",
}  # fmt: skip
_WINGDINGS: Final = {
    0x6F: "☐", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑", 0x78: "☒", 0xDF: "←", 0xE0: "→", 0xE8: "→",
    0xF0: "→", 0xA7: "•", 0x6C: "●", 0x6E: "■",
}  # fmt: skip


def read_symbol(font: str, place: str) -> str:
    """Return the character at a place of a font; an empty text if it is not known.

    Args:
        font: The name of the font.
        place: The hexadecimal number of the place. Fonts of symbols have theirs from F000.
    """
    try:
        code = int(place, 16)
    except ValueError:
        return ""
    if code < 0:
        return ""
    is_private = _PRIVATE <= code <= _LAST
    code = code - _PRIVATE if is_private else code
    if font.startswith("Wingdings"):
        return _WINGDINGS.get(code, "") if font == "Wingdings" else ""
    if font == "Symbol":
        shown = chr(code) if 0x20 <= code < 0x7F else ""
        return _SIGNS.get(code) or _GREEK.get(shown, shown)
    return "" if is_private or code > 0xFFFF or 0xD800 <= code <= 0xDFFF else chr(code)
