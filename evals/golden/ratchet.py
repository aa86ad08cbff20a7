"""Turns a recorded run that went wrong into a golden item with its frozen evidence, so that it goes wrong once only."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.outcome import Status
from sourcebound.errors import RequestError
from sourcebound.evals.golden.corpus import read_set
from sourcebound.evals.golden.items import GoldenItem, Kind, write_items

BUILT_IN: Final = "extractive"
ID_CHARACTERS: Final = 12


class Expectation(NamedTuple):
    """The outcome that the run should have had, in the words of a person."""

    status: Sequence[str]
    facts: Sequence[str] = ()
    """Each a list of spellings, separated by `|`."""
    places: Sequence[str] = ()
    """Each a list of `DOCUMENT` or `DOCUMENT:PAGE`, separated by `|`."""
    forbidden: Sequence[str] = ()
    name: str | None = None
    """The id of the item; made from the run if it is None."""
    keeps_reply: bool | None = None
    """Whether the item has the recorded reply; by default if a language model wrote it."""


def freeze_run(state: Mapping[str, Any], expected: Expectation, comments: Sequence[str]) -> GoldenItem:
    """Make an item of a run.

    Args:
        state: The last state of the run.
        expected: The outcome that it should have had.
        comments: The words of readers who gave the run a thumbs-down; one entry for each of them.

    Returns:
        The item.

    Raises:
        RequestError: The run did not go wrong, has no candidates or no reply, or the expectation is incomplete.
    """
    run, outcome = state["run"], state["outcome"]
    if outcome["status"] != Status.FAILED and not comments:
        raise RequestError(
            f"run {run['run_id']} did not fail, and no reader gave it a thumbs-down.",
            "Give feedback on it first: POST /v1/feedback with the rating down.",
            code="RUN_NOT_WRONG",
        )
    retrieval = state.get("retrieval")
    if not retrieval or not retrieval.get("results"):
        raise RequestError(f"run {run['run_id']} has no candidates to freeze.", "Write the item by hand.")
    form: dict[str, Any] = {
        "id": expected.name or f"run-{run['run_id'].replace('-', '')[-ID_CHARACTERS:]}",
        "kind": Kind.RATCHET,
        "question": run.get("search_query") or run["question"],
        "status": list(expected.status),
        "citations": [[_read_place(place) for place in each.split("|")] for each in expected.places],
        "facts": [each.split("|") for each in expected.facts],
        "forbidden": list(expected.forbidden),
        "frozen": {
            "policy": run["policy_version"],
            "bundle": {name: value for name, value in retrieval.items() if value is not None},
            "reply": _find_reply(state, expected.keeps_reply),
        },
        "note": _describe(outcome, comments),
    }
    try:
        return GoldenItem.model_validate(form)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = ".".join(map(str, detail["loc"]))
        reason = ": ".join(filter(None, (field, detail["msg"].removeprefix("Value error, "))))
        raise RequestError(
            f"the expectation is not complete: {reason}.",
            'An answer needs --fact "14 days|two weeks" and --cite DOCUMENT:PAGE. A refusal has neither.',
        ) from error


def append_item(path: Path, item: GoldenItem) -> None:
    """Append an item to a set, which is created if it does not exist.

    Raises:
        RequestError: The file is not a golden set, has this id already, or cannot be written.
    """
    if path.exists() and item.id in {each.id for each in read_set(path).items}:
        raise RequestError(f"{path} has an item {item.id!r} already.", "Give another --id.", code="ITEM_EXISTS")
    try:
        with path.open("ab+") as file:
            file.seek(0, os.SEEK_END)
            if size := file.tell():
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(write_items([item]).encode())
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.", "Name another file.") from error


def _read_place(text: str) -> dict[str, Any]:
    document, colon, page = text.rpartition(":")
    return {"document": document, "page": int(page)} if colon and page.isdecimal() else {"document": text}


def _find_reply(state: Mapping[str, Any], keeps_reply: bool | None) -> str | None:
    generation = state.get("generation") or {}
    reply = generation.get("raw_model_text") or None
    if keeps_reply is None:
        return reply if state["run"]["model"] != BUILT_IN else None
    if keeps_reply and reply is None:
        raise RequestError("the run has no reply of a model.", "Omit --reply.")
    return reply if keeps_reply else None


def _describe(outcome: Mapping[str, Any], comments: Sequence[str]) -> str:
    """Return the reason why the run became an item."""
    code = outcome.get("failure_code") or outcome.get("refusal_code")
    said = [f"thumbs-down: {comment}" if comment else "thumbs-down" for comment in comments]
    return "; ".join([" ".join(filter(None, (outcome["status"], code))), *said])
