"""The bullets and numbers of the paragraphs of a slide, which its layout and its master may describe."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sourcebound.ingest.loaders.archive import Element
from sourcebound.ingest.loaders.office.word_numbering import BULLET, show_number

_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_FORMS: Final = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_BODY: Final = "body"
_BODY_KINDS: Final = ("body", "obj", "subTitle")
"""The placeholders that have the text style of the body of a slide."""
_NO_INDEX: Final = "0"
_MAX_DIGITS: Final = 5


class Layer(NamedTuple):
    """The placeholders and list styles of a layout or a master, which the shapes of its slides have."""

    by_index: dict[str, Element]
    """The first placeholder of each index."""
    by_kind: dict[str, Element]
    """The first placeholder of each type."""
    body: list[Element]
    """The list styles of the body of a slide."""


def read_layer(root: Element) -> Layer:
    """Read the placeholders and styles of a layout or a master."""
    layer = Layer({}, {}, list(root.iter(f"{_P}bodyStyle")))
    for shape in root.iter(f"{_P}sp"):
        if found := find_placeholder(shape):
            layer.by_kind.setdefault(found[0], shape)
            layer.by_index.setdefault(found[1], shape)
    return layer


def read_markers(shape: Element, paragraphs: Sequence[Element], above: Sequence[Layer]) -> Iterator[str]:
    """Yield the marker of each paragraph of a shape, with a space; an empty text where it has none.

    Args:
        shape: The shape.
        paragraphs: Its paragraphs.
        above: The layout and the master of the slide, in this order; none for its notes.
    """
    styles = list(_iter_styles(shape, above))
    counts: dict[int, int] = {}
    for paragraph in paragraphs:
        own = paragraph.find(f"{_A}pPr")
        level = own.get("lvl", "0") if own is not None else "0"
        depth = int(level) if level.isdecimal() and len(level) == 1 else 0
        named = (style.find(f"{_A}lvl{depth + 1}pPr") for style in styles)
        bullet = _find_bullet([each for each in (own, *named) if each is not None])
        for deeper in [each for each in counts if each > depth]:
            del counts[deeper]
        if bullet is None or bullet.tag != f"{_A}buAutoNum":
            counts.pop(depth, None)
            yield BULLET if bullet is not None else ""
            continue
        start = bullet.get("startAt", "1")
        first = int(start) if start.isdecimal() and len(start) <= _MAX_DIGITS else 1
        counts[depth] = counts.get(depth, first - 1) + 1
        yield _show(counts[depth], bullet.get("type", ""))


def find_placeholder(shape: Element) -> tuple[str, str] | None:
    """Return the type and the index of a placeholder; None for another shape."""
    placeholder = next(shape.iter(f"{_P}ph"), None)
    return None if placeholder is None else (placeholder.get("type", _BODY), placeholder.get("idx", _NO_INDEX))


def _iter_styles(shape: Element, above: Sequence[Layer]) -> Iterator[Element]:
    """Yield the list styles that a shape has: its own, and those of the placeholders that it fills, nearest first."""
    yield from (style for body in shape.iterchildren(f"{_P}txBody") for style in body.iterchildren(f"{_A}lstStyle"))
    filled = find_placeholder(shape)
    if filled is None:
        return
    kind, index = filled
    for layer in above:
        same = layer.by_index.get(index) if index != _NO_INDEX else None
        same = layer.by_kind.get(kind) if same is None else same
        if same is not None:
            yield from same.iter(f"{_A}lstStyle")
        if kind in _BODY_KINDS:
            yield from layer.body


def _find_bullet(formats: Sequence[Element]) -> Element | None:
    """Return the bullet that the nearest format names; None if it says that there is none, or no format says it."""
    for each in formats:
        for child in each:
            if child.tag == f"{_A}buNone":
                return None
            if child.tag in (f"{_A}buChar", f"{_A}buBlip", f"{_A}buAutoNum"):
                return child
    return None


def _show(number: int, kind: str) -> str:
    form = next((shown for name, shown in _FORMS.items() if kind.startswith(name)), "decimal")
    text = show_number(number, form)
    if kind.endswith("ParenBoth"):
        return f"({text}) "
    return f"{text}) " if kind.endswith("ParenR") else f"{text}. "
