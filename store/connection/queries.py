"""Named queries: SQL is kept in `queries.sql` and looked up by name."""

import re
from functools import cache
from importlib.resources import files
from typing import Final, LiteralString, cast

NAME: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def _load_queries() -> dict[str, LiteralString]:
    pieces = NAME.split((files(__package__) / "queries.sql").read_text("utf-8"))
    return {name: cast("LiteralString", sql.strip()) for name, sql in zip(pieces[1::2], pieces[2::2], strict=True)}


def query(name: str) -> LiteralString:
    """Return the text of a query of `queries.sql`.

    Args:
        name: The name of the query.

    Returns:
        The SQL, a literal of this package.

    Raises:
        KeyError: No query has that name.
    """
    return _load_queries()[name]
