"""`sourcebound runs feedback`: what readers said about answers."""

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sourcebound.cli.console import run_async, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sourcebound.store.runs.feedback import FeedbackOnRun


def feedback(
    rating: Annotated[Literal["up", "down"] | None, typer.Option(help="Only this rating.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The number of entries, newest first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """List the feedback of readers, with the run and the question of each entry.

    A comment is erased with the texts of its run.
    """
    entries = run_async(lambda: _list(limit, rating))
    if as_json:
        for entry in entries:
            print(json.dumps(entry._asdict(), default=str, ensure_ascii=False))
        return
    from sourcebound.contracts.text.sanitize import one_line

    if not entries:
        say("There is no feedback yet. Readers give it on the page of `sourcebound serve`, or by POST /v1/feedback.")
        return
    for entry in entries:
        print(f"{entry.given_at:%Y-%m-%d %H:%M:%S}  {entry.run_id}  {entry.status}  {entry.rating}")
        print(f"    {one_line(entry.question) if entry.question else '(erased)'}")
        if entry.comment:
            print(f"    > {one_line(entry.comment)}")


async def _list(limit: int, rating: str | None) -> "Sequence[FeedbackOnRun]":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await services.feedback.list_latest(limit, rating)
