"""A recorded run as one file, to be computed again on any machine (contract CP-3).

One JSON object: the format's name and version, the version of the package that wrote it, the run, and the SHA-256 of
the run's canonical form (sorted, compact JSON). The digest shows a file that was cut or edited on its way. It is no
signature: what stands against a forger is the computation itself, and the hash chain of the audit record inside.
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
    """Why a file is not a recorded run."""

    code: str
    message: str
    next_step: str


def write_run_file(run: RecordedRun, version: str) -> str:
    """The file of a run, on one line.

    Args:
        run: The run.
        version: That of the package.

    Returns:
        JSON without a line break; many such lines make a history.
    """
    form = run.model_dump(mode="json")
    document = {"format": FORMAT, "sourcebound_version": version, "digest": run_digest(form), "run": form}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def read_run_file(text: str) -> RecordedRun | RunFileFault:
    """Reads the file of a run.

    Args:
        text: The file's text.

    Returns:
        The run; or why there is none: not a run's file, of a newer version, cut off, or edited.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _damaged("it is not one whole JSON object")
    found = document.get("format") if isinstance(document, dict) else None
    if not isinstance(found, str) or not VERSIONED.fullmatch(found):
        return RunFileFault(
            "RUN_FILE_UNKNOWN", "it is not a recorded run", "Make one with `sourcebound runs export RUN > run.json`."
        )
    if found != FORMAT:
        return RunFileFault(
            "RUN_FILE_NEWER",
            f"its format is {found}, and this version reads {FORMAT}",
            f"Use the version that wrote it, {document.get('sourcebound_version')!r}, or a newer one.",
        )
    try:
        if run_digest(document.get("run")) != document.get("digest"):
            return RunFileFault(
                "RUN_FILE_ALTERED",
                "its digest is not that of its contents: it was changed after it was written",
                "Export the run again: `sourcebound runs export RUN > run.json`.",
            )
        return RecordedRun.model_validate(document["run"])
    except (ValidationError, RecursionError) as error:
        return _damaged(f"its run is not of the format {FORMAT} ({_first(error)})")


def run_digest(form: JsonObject | None) -> str:
    """SHA-256 of the canonical form of a run, in hexadecimal."""
    text = json.dumps(form, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _damaged(how: str) -> RunFileFault:
    return RunFileFault("RUN_FILE_DAMAGED", how, "Copy or export it again.")


def _first(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    detail = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, detail['loc']))!r}: {detail['msg']}"
