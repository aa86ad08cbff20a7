"""Make the PDF and DOCX manuals of the demo from their sources.

Run `python examples/make_manuals.py` in any folder. The sources are Markdown files in `examples/sources`. The results
go to `examples/manuals`, which also has the hand-written CSV, HTML, Markdown and plain-text documents. The title,
revision and date of a document come from its sidecar, `<file>.meta.toml`. Dates are fixed, so a second run with the
same libraries writes the same bytes.
"""

import io
import re
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path

from docx import Document
from docx.document import Document as DocxDocument
from docx.text.paragraph import Paragraph
from fpdf import FPDF
from fpdf.enums import XPos, YPos
from fpdf.outline import OutlineSection

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
MANUALS = HERE / "manuals"

FONT = "Helvetica"
LINE = 5.6
"""The height of a line of running text in a PDF, in millimetres."""


@dataclass(frozen=True)
class Job:
    """One document to make: its file in `manuals`, its author and its running header."""

    target: str
    author: str
    header: str
    chapters_on_new_pages: bool = False

    @property
    def source(self) -> Path:
        """The Markdown file that the document is made from."""
        return SOURCES / Path(self.target).with_suffix(".md").name


JOBS = (
    Job(
        "hp-200-manual-rev-c.pdf",
        "Ostrell Pumpworks",
        "OM-HP200 · HP-200 Circulation Pump · Revision C",
        True,
    ),
    Job("hp-300-manual-rev-a.pdf", "Ostrell Pumpworks", "OM-HP300 · HP-300 Transfer Pump · Revision A"),
    Job("hp-200-manual-rev-b.docx", "Ostrell Pumpworks", "OM-HP200 · HP-200 Circulation Pump · Revision B"),
    Job("wfi-1-sanitisation-sop.docx", "Brackenford Sterile Waters", "SOP-CL-014 · Loop WFI-1 · Revision 4"),
)


@dataclass(frozen=True)
class Sidecar:
    """The metadata in a document's sidecar that its file repeats."""

    title: str
    revision: str
    issued: datetime


@dataclass(frozen=True)
class Block:
    """A heading, paragraph, quote, numbered step or table of a source."""

    kind: str
    text: str = ""
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()


def read_sidecar(target: str) -> Sidecar:
    """Read the sidecar of a document in `manuals`."""
    values = tomllib.loads((MANUALS / f"{target}.meta.toml").read_text(encoding="utf-8"))
    day: date = values["event_date"]
    return Sidecar(values["title"], values["revision"], datetime.combine(day, time(9), UTC))


def read_table(lines: list[str]) -> Block:
    """Read the lines of a Markdown table, except the line of dashes below the header."""
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return Block("table", rows=(rows[0], *rows[2:]))


def read_steps(lines: list[str]) -> Iterator[Block]:
    """Read numbered steps of one or more lines each. The level of a step is its number."""
    for step in re.split(r"\n(?=\d+\. )", "\n".join(lines)):
        number, text = step.split(". ", 1)
        yield Block("step", " ".join(text.split()), level=int(number))


def read_blocks(source: str) -> list[Block]:
    """Split a source into blocks; an empty line ends a block."""
    blocks: list[Block] = []
    for stretch in re.split(r"\n\s*\n", source.strip()):
        lines = stretch.splitlines()
        if match := re.match(r"(#+) (.+)", lines[0]):
            blocks.append(Block("heading", match[2], level=len(match[1])))
        elif lines[0].startswith("|"):
            blocks.append(read_table(lines))
        elif re.match(r"\d+\. ", lines[0]):
            blocks.extend(read_steps(lines))
        elif lines[0].startswith("> "):
            blocks.append(Block("quote", " ".join(line.removeprefix("> ") for line in lines)))
        else:
            blocks.append(Block("paragraph", " ".join(lines)))
    return blocks


class ManualPdf(FPDF):
    """An A4 manual with a running header, page numbers and an outline."""

    def __init__(self, job: Job, sidecar: Sidecar) -> None:
        super().__init__(format="A4")
        self.job = job
        self.set_margins(22, 24, 22)
        self.set_auto_page_break(True, margin=24)
        self.set_title(sidecar.title)
        self.set_subject(job.header)
        self.set_author(job.author)
        self.set_lang("en-GB")
        self.set_creation_date(sidecar.issued)

    def header(self) -> None:
        """Print the running header."""
        self.set_y(12)
        self.set_font(FONT, size=8)
        self.cell(0, 5, self.job.header, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.line(self.l_margin, 18, self.w - self.r_margin, 18)
        self.set_y(self.t_margin)

    def footer(self) -> None:
        """Print the page number."""
        self.set_y(-16)
        self.set_font(FONT, size=8)
        self.cell(0, 5, f"Page {self.page_no()} of {{nb}}", align="C")

    def text_block(
        self, text: str, *, style: str = "", size: float = 10.5, indent: float = 0, after: float = 2
    ) -> None:
        """Print one block of text, ragged on the right, and leave a gap below it."""
        self.set_font(FONT, style, size)
        self.set_x(self.l_margin + indent)
        height = LINE if size < 12 else size * 0.5
        self.multi_cell(0, height, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.ln(after)

    def column_widths(self, rows: tuple[tuple[str, ...], ...]) -> tuple[float, ...]:
        """Distribute the width of the page over the columns of a table; the widest columns shrink first."""
        self.set_font(FONT, "B", 9)
        needed = [max(self.get_string_width(cell) for cell in column) + 5 for column in zip(*rows, strict=True)]
        limit = self.epw
        while sum(min(width, limit) for width in needed) > self.epw:
            limit -= 1
        return tuple(min(width, limit) for width in needed)

    def draw(self, block: Block) -> None:
        """Print one block at the current place."""
        if block.kind == "heading":
            size = {1: 20.0, 2: 15.0}.get(block.level, 11.5)
            self.text_block(block.text, style="B", size=size, after={1: 8, 2: 4}.get(block.level, 1))
        elif block.kind == "table":
            widths = self.column_widths(block.rows)
            self.set_font(FONT, size=9)
            with self.table(block.rows, col_widths=widths, line_height=LINE, text_align="LEFT", padding=0.8):
                pass
            self.ln(4)
        elif block.kind == "step":
            self.text_block(f"{block.level}. {block.text}", indent=6, after=1)
        elif block.kind == "quote":
            self.text_block(block.text, style="B", indent=6)
        else:
            self.text_block(block.text)

    def place(self, group: list[Block]) -> None:
        """Print headings together with the block below them, on a new page if this page is too short."""
        with self.offset_rendering() as rehearsal:
            for block in group:
                rehearsal.draw(block)
        if rehearsal.page_break_triggered:
            self.add_page()
        for block in group:
            if block.kind == "heading" and block.level > 1:
                self.start_section(block.text, level=block.level - 2)
            self.draw(block)


def draw_contents(pdf: FPDF, outline: list[OutlineSection]) -> None:
    """Print the page of contents, with one line per chapter."""
    pdf.set_font(FONT, "B", 15)
    pdf.cell(0, 8, "Contents", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.ln(4)
    pdf.set_font(FONT, size=10.5)
    for section in outline:
        if section.level == 0:
            pdf.cell(140, 7, section.name)
            pdf.cell(0, 7, str(section.page_number), align="R", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def make_pdf(job: Job, sidecar: Sidecar, blocks: list[Block]) -> bytes:
    """Lay out a manual as a PDF. No paragraph, step or table continues on the next page."""
    pdf = ManualPdf(job, sidecar)
    pdf.add_page()
    contents_due = job.chapters_on_new_pages
    group: list[Block] = []
    for block in blocks:
        if block.kind == "heading" and block.level == 2 and job.chapters_on_new_pages:
            pdf.add_page()
            if contents_due:
                # the placeholder takes the new page, and itself adds the page after it
                pdf.insert_toc_placeholder(draw_contents)
                contents_due = False
        group.append(block)
        if block.kind != "heading":
            pdf.place(group)
            group = []
    return bytes(pdf.output())


def add_step(document: DocxDocument, block: Block, numbering_id: int) -> int:
    """Add a numbered step and return the id of its list. Step 1 starts a new list."""
    paragraph: Paragraph = document.add_paragraph(block.text, style="List Number")
    if block.level == 1:
        numbering = document.part.numbering_part.element
        style_id = document.styles["List Number"].element.pPr.numPr.numId.val
        definition = numbering.num_having_numId(style_id).abstractNumId.val
        num = numbering.add_num(definition)
        num.add_lvlOverride(ilvl=0).add_startOverride(1)
        numbering_id = num.numId
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_ilvl().val = 0
    properties.get_or_add_numId().val = numbering_id
    return numbering_id


def add_table(document: DocxDocument, block: Block) -> None:
    """Add a table with a bold header row."""
    table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
    for number, row in enumerate(block.rows):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.paragraphs[0].add_run(text).bold = number == 0
    document.add_paragraph()


def fix_dates(archive: bytes) -> bytes:
    """Repack a zip archive with one fixed date on every member."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 0
            new.writestr(member, old.read(name))
    return result.getvalue()


def make_docx(job: Job, sidecar: Sidecar, blocks: list[Block]) -> bytes:
    """Lay out a document as a DOCX with heading styles, automatic numbering and tables."""
    document = Document()
    core = document.core_properties
    core.title, core.author, core.subject, core.comments = sidecar.title, job.author, job.header, ""
    core.version, core.last_modified_by, core.revision = sidecar.revision, job.author, 1
    core.created = core.modified = sidecar.issued.replace(tzinfo=None)
    document.sections[0].header.paragraphs[0].text = job.header
    numbering_id = 0
    for block in blocks:
        if block.kind == "heading":
            document.add_heading(block.text, level=block.level - 1)
        elif block.kind == "table":
            add_table(document, block)
        elif block.kind == "step":
            numbering_id = add_step(document, block, numbering_id)
        else:
            document.add_paragraph(block.text).style = "Intense Quote" if block.kind == "quote" else "Normal"
    result = io.BytesIO()
    document.save(result)
    return fix_dates(result.getvalue())


def main() -> None:
    """Make every document of `JOBS`."""
    for job in JOBS:
        sidecar = read_sidecar(job.target)
        blocks = read_blocks(job.source.read_text(encoding="utf-8"))
        if blocks[0].text != sidecar.title:
            raise ValueError(f"{job.source.name} and the sidecar of {job.target} differ in title")
        make = make_pdf if job.target.endswith(".pdf") else make_docx
        (MANUALS / job.target).write_bytes(make(job, sidecar, blocks))
        print(f"made {job.target}")


if __name__ == "__main__":
    main()
