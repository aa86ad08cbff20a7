"""The file of a recorded run, which any machine can recompute (contract CP-3).

The file is one JSON object: the name and version of the format, the version of the package that wrote it, the run, and
the SHA-256 of the run's canonical form (sorted, compact JSON). The digest reveals a file that was truncated or edited
in transit. It is not a signature: the recomputation itself, and the hash chain of the audit record in the file, protect
against forgery.
"""

import hashlib
import json
import re
from typing import Final, NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.replay.report import RecordedRun
from sourcebound.contracts.state import JsonObject

FORMAT: Final = "sourcebound_run_v1"
VERSIONED: Final = re.compile(r"sourcebound_run_v[0-9]+")


class RunFileFault(NamedTuple):
    """The reason why a file is not a recorded run."""

    code: str
    message: str
    next_step: str


def write_run_file(run: RecordedRun, version: str) -> str:
    """Write a run as one line of JSON.

    Args:
        run: The run.
        version: The version of the package.

    Returns:
        JSON without a line break. A file with many such lines is a history.
    """
    form = run.model_dump(mode="json")
    document = {"format": FORMAT, "sourcebound_version": version, "digest": run_digest(form), "run": form}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def read_run_file(text: str) -> RecordedRun | RunFileFault:
    """Read the file of a run.

    Args:
        text: The text of the file.

    Returns:
        The run, or the reason why the file is not valid: no recorded run, of a newer version, truncated or edited.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _damaged_file("it is not one complete JSON object")
    name = document.get("format") if isinstance(document, dict) else None
    if not isinstance(name, str) or not VERSIONED.fullmatch(name):
        return RunFileFault(
            "RUN_FILE_UNKNOWN", "it is not a recorded run", "Make one with `sourcebound runs export RUN > run.json`."
        )
    if name != FORMAT:
        return RunFileFault(
            "RUN_FILE_NEWER",
            f"its format is {name}, but this version reads {FORMAT}",
            f"Use the version that wrote it, {document.get('sourcebound_version')!r}, or a newer one.",
        )
    try:
        if run_digest(document.get("run")) != document.get("digest"):
            return RunFileFault(
                "RUN_FILE_ALTERED",
                "its digest does not match its contents: it was changed after it was written",
                "Export the run again: `sourcebound runs export RUN > run.json`.",
            )
        return RecordedRun.model_validate(document["run"])
    except (ValidationError, RecursionError) as error:
        return _damaged_file(f"its run does not have the format {FORMAT} ({_first_error(error)})")


def run_digest(form: JsonObject | None) -> str:
    """Return the SHA-256 of the canonical form of a run, in hexadecimal."""
    text = json.dumps(form, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _damaged_file(problem: str) -> RunFileFault:
    return RunFileFault("RUN_FILE_DAMAGED", problem, "Copy or export it again.")


def _first_error(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    detail = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, detail['loc']))!r}: {detail['msg']}"
