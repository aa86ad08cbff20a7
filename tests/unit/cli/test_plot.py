"""The picture of the trade-off is well-formed SVG, and what it shows stands where it should."""

from xml.etree import ElementTree

from sourcebound.cli.corpus.plot import Interval, Mark, draw_trade_off

SVG = "{http://www.w3.org/2000/svg}"
CURVE = [Mark(0.0, 1.0), Mark(0.02, 0.1), Mark(1.0, 0.0)]
INTERVAL = Interval((0.0, 0.1), (0.05, 0.2))


def _draw(title: str = "The gate") -> ElementTree.Element:
    return ElementTree.fromstring(draw_trade_off(title, [*CURVE, Mark(0.5, 0.5)], CURVE, CURVE[1], INTERVAL, 0.02))


def test_the_curve_falls_from_the_upper_left_to_the_lower_right() -> None:
    (line,) = _draw().iter(f"{SVG}polyline")
    points = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    assert len(points) == len(CURVE)
    assert points == sorted(points)
    assert [y for _, y in points] == sorted(y for _, y in points)


def test_everything_is_inside_the_picture() -> None:
    root = _draw()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for circle in root.iter(f"{SVG}circle"):
        assert 0 < float(circle.attrib["cx"]) < width
        assert 0 < float(circle.attrib["cy"]) < height
    for line in root.iter(f"{SVG}line"):
        assert all(0 < float(line.attrib[name]) < width for name in ("x1", "x2"))
        assert all(0 < float(line.attrib[name]) < height for name in ("y1", "y2"))


def test_a_name_with_markup_in_it_stays_text() -> None:
    title = "<script>\"&'</script>"
    root = _draw(title)
    assert root.attrib["aria-label"] == title
    assert title in [text.text for text in root.iter(f"{SVG}text")]
    assert not list(root.iter(f"{SVG}script"))
