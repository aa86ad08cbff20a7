"""Small real PDFs."""

from pathlib import Path

from fpdf import FPDF


def write_pdf(path: Path, *lines: str) -> Path:
    """Write a PDF of one page with a line of text for each line."""
    pdf = FPDF(unit="pt", format="A4")
    pdf.add_page()
    pdf.set_font("helvetica", size=11)
    for line in lines:
        pdf.cell(h=16, text=line, new_x="LMARGIN", new_y="NEXT")
    pdf.output(str(path))
    return path
