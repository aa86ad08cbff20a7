"""The documents of the questions, and a split of them into parts: a way learns on all but one part (`rankers.py`)."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

FOLDS: Final = 5


def documents(data: Path) -> dict[str, str]:
    """Return the document of each question."""
    folder = data / "answerability"

    def rows(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / name).read_text("utf-8").split("\n") if line.strip()]

    titles = {each["_id"]: each["title"] for each in rows("squad2/paragraphs.jsonl")}
    return {
        **{each["_id"]: titles[each["paragraph_id"]] for each in rows("squad2/questions.jsonl")},
        **{each["id"]: each["title"] for each in rows("qed_nq/items.jsonl")},
        **{each["_id"]: str(each["document_id"]) for each in rows("covidqa_long/questions.jsonl")},
    }


def fold_of(document: str) -> int:
    """Return the part of a document."""
    return int(hashlib.sha256(document.encode()).hexdigest()[:8], 16) % FOLDS
