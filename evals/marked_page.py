"""The place of a page that a command fills with its tables."""

from pathlib import Path


def marks(target: str) -> tuple[str, str]:
    """Return the lines around the place that `make TARGET` fills."""
    begin, end = (f"<!-- measured by `make {target}`: {edge} -->\n" for edge in ("begin", "end"))
    return begin, end


def update_page(path: Path, target: str, table: str) -> None:
    """Put tables into the marked place of a page.

    Args:
        path: The page.
        target: The make target that measures them.
        table: The tables in Markdown.

    Raises:
        ValueError: The page has no such place.
    """
    first, last = marks(target)
    before, begin, rest = path.read_text("utf-8").partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end):
        raise ValueError(f"{path} has no place between {first.strip()} and {last.strip()}")
    path.write_text(f"{before}{begin}\n{table}\n{end}{after}", "utf-8")
