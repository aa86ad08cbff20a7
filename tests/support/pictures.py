"""PDFs whose pages are pictures of text, as a scanner writes them."""

from collections.abc import Sequence

from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont


def scanned_pdf(*pages: Sequence[str] | str) -> bytes:
    """Write a PDF. A page of lines is a picture, and a page that is a text has a text layer."""
    pdf = FPDF(unit="pt", format="A4")
    for page in pages:
        pdf.add_page()
        if isinstance(page, str):
            pdf.set_font("Helvetica", size=11)
            pdf.multi_cell(0, 14, page)
            continue
        picture = Image.new("L", (1240, 1754), 255)
        pen, font = ImageDraw.Draw(picture), ImageFont.load_default(36)
        for number, line in enumerate(page):
            pen.text((120, 160 + 80 * number), line, fill=0, font=font)
        pdf.image(picture, 0, 0, 595, 842)
    return bytes(pdf.output())
