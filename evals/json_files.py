"""Reads the JSON files that evaluations write."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from sourcebound.errors import RequestError

Model = TypeVar("Model", bound=BaseModel)


def read_json_file(path: Path, model: type[Model], name: str, next_step: str, code: str) -> Model:
    """Read a file that holds one model as JSON.

    Args:
        path: The file.
        model: The model that it holds.
        name: What the file is, for the message.
        next_step: How such a file is written.
        code: The failure code of a file with other content.

    Raises:
        RequestError: The file cannot be read (`PATH_MISSING`), or holds something else (`code`).
    """
    try:
        return model.model_validate_json(path.read_text("utf-8"))
    except OSError as error:
        raise RequestError(
            f"{path} cannot be read: {error.strerror}.", "Check the path.", code="PATH_MISSING"
        ) from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise RequestError(f"{path} is not {name}.", next_step, code=code) from error
