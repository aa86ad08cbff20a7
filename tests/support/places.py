"""The location of the project's own files."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
"""The root folder of the checkout."""
