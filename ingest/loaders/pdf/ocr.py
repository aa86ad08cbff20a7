"""The text of a page that has no text layer, by optical character recognition (extra `ocr`).

RapidOCR runs the models of its own wheel, so nothing is downloaded. It runs in one thread, because a confined process
can start no other. Its result is a reading of a picture and not the text of a file: words can be wrong, and the
document says which pages were read like this.
"""

import os
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sourcebound.errors import ConfigurationError
from sourcebound.ingest.loaders.pdf.layout import Cell, Line

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

Picture = Any
"""An array of numpy with the shape (height, width, 3) and 8-bit values. numpy is imported late."""
LONG_SIDE: Final = 1_800
"""The pixels of the longer side of a page: about 150 dots an inch of A4."""
SAME_ROW: Final = 0.5
FONT_SHARE: Final = 0.75
"""The font size of a line, as a share of the height of its box."""
SAMPLE_TEXT: Final = "Pump 27 bar"


class Reading(NamedTuple):
    """A recognized line and its box, in pixels from the top left corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


Recognize = Callable[[Picture], Sequence[Reading]]
"""A reader of pictures. It returns the lines in reading order."""


def open_recognizer() -> Recognize:
    """Load RapidOCR and all its models, which a confined process could not open later.

    Raises:
        ConfigurationError: The extra is not installed (`OCR_UNAVAILABLE`).
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it must be set before the import
    try:
        import cv2
        import numpy
        from rapidocr import RapidOCR
    except ImportError as error:
        raise ocr_unavailable() from error

    cv2.setNumThreads(1)
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    engine: Any = RapidOCR(params={"Global.log_level": "critical", **threads})

    def recognize(picture: Picture) -> Sequence[Reading]:
        found = engine(picture)
        if found.boxes is None:
            return ()
        return [
            Reading(text, *box.min(axis=0).tolist(), *box.max(axis=0).tolist())
            for text, box in zip(found.txts, found.boxes, strict=True)
        ]

    sample = numpy.full((96, 600, 3), 255, numpy.uint8)
    cv2.putText(sample, SAMPLE_TEXT, (10, 60), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (0, 0, 0), 3)
    recognize(sample)  # a model is loaded when it is first needed
    return recognize


def ocr_unavailable() -> ConfigurationError:
    """Return the error of a machine without the extra."""
    return ConfigurationError(
        "optical character recognition is not installed.",
        "Run `pip install 'sourcebound[ocr]'`, or omit --ocr and SOURCEBOUND_OCR.",
        code="OCR_UNAVAILABLE",
    )


def read_picture(page: "PdfPage", recognize: Recognize) -> list[Line]:
    """Draw a page and recognize its text.

    Args:
        page: A page of a PDF.
        recognize: Reads the picture.

    Returns:
        The lines of the page in reading order, with positions in points. Readings on one row are one line with several
        cells, so that the rows of a table stay together.
    """
    import numpy

    width, height = page.get_size()
    scale = LONG_SIDE / max(width, height)
    bitmap = page.render(scale=scale, prefer_bgrx=False)
    try:
        rows = numpy.frombuffer(bitmap.buffer, numpy.uint8).reshape(bitmap.height, bitmap.stride)
        picture = rows[:, : bitmap.width * bitmap.n_channels].reshape(bitmap.height, bitmap.width, bitmap.n_channels)
        colours = picture[:, :, :3] if bitmap.n_channels > 1 else picture.repeat(3, axis=2)
        readings = recognize(numpy.ascontiguousarray(colours))
    finally:
        bitmap.close()
    return [_make_line(row, scale, height) for row in _group_rows(readings)]


def _group_rows(readings: Sequence[Reading]) -> list[list[Reading]]:
    """Return the readings by rows. A reading joins the row of the one before it if it is to its right."""
    rows: list[list[Reading]] = []
    for reading in [reading for reading in readings if reading.text.strip()]:
        if rows and _is_next_to(rows[-1][-1], reading):
            rows[-1].append(reading)
        else:
            rows.append([reading])
    return rows


def _is_next_to(previous: Reading, reading: Reading) -> bool:
    shared = min(previous.bottom, reading.bottom) - max(previous.top, reading.top)
    is_same_row = shared > SAME_ROW * min(previous.bottom - previous.top, reading.bottom - reading.top)
    return is_same_row and reading.left >= previous.right


def _make_line(row: Sequence[Reading], scale: float, page_height: float) -> Line:
    size = median(reading.bottom - reading.top for reading in row) * FONT_SHARE / scale
    bottom = page_height - max(reading.bottom for reading in row) / scale
    cells = tuple(
        Cell(" ".join(reading.text.split()), reading.left / scale, reading.right / scale, bottom, size, bold=False)
        for reading in row
    )
    text = " ".join(cell.text for cell in cells)
    return Line(0, 0, text, size, False, cells[0].left, cells[-1].right, bottom, cells)
