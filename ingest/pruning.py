"""Decides which documents are gone.

A document goes when the file that it was read from is certainly not there any more, and only if it was under one of the
paths that were named. A file that cannot be read today, a folder that is closed, a path that does not exist: none of
them is proof, and nothing goes for it.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sourcebound.contracts.corpus.collection import KnownDocument


def gone_documents(
    known: Iterable[KnownDocument], paths: Sequence[Path], named: Mapping[str, str]
) -> list[KnownDocument]:
    """The documents that `--prune` removes.

    Args:
        known: The documents of the collection, after the ingest.
        paths: What was ingested; a path that does not exist is no reason to remove anything.
        named: For each file that is stored under the id that its operator gave it, that id: what is kept of it under
            another one is out of date for good.

    Returns:
        Those whose files are gone, or go by another name now, by their knowledge ids.
    """
    roots = [str(path.resolve()) for path in paths if path.exists()]
    gone = [document for document in known if _is_under(document.source_path, roots) and _is_gone(document, named)]
    return sorted(gone, key=lambda document: document.knowledge_id)


def _is_under(source_path: str, roots: Iterable[str]) -> bool:
    return any(source_path == root or source_path.startswith(os.path.join(root, "")) for root in roots)


def _is_gone(document: KnownDocument, named: Mapping[str, str]) -> bool:
    if named.get(document.source_path, document.knowledge_id) != document.knowledge_id:
        return True
    try:
        os.lstat(document.source_path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
