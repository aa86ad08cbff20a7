"""The choice of the documents that `--prune` removes.

A document is removed only if its file was under one of the named paths, and if that file certainly no longer exists or
is now stored under another id. A file that cannot be read, a folder without access and a named path that does not exist
prove nothing, so their documents stay.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sourcebound.contracts.corpus.collection import KnownDocument


def find_obsolete_documents(
    known: Iterable[KnownDocument], paths: Sequence[Path], operator_ids: Mapping[str, str]
) -> list[KnownDocument]:
    """Find the documents that `--prune` removes.

    Args:
        known: The documents of the collection, after the ingest.
        paths: The paths of the ingest. A path that does not exist causes no removal.
        operator_ids: The knowledge id of each stored file that the operator named, by its path. A document of the same
            file under another id is out of date.

    Returns:
        The documents whose files no longer exist or now have another id, ordered by knowledge id.
    """
    roots = [str(path.resolve()) for path in paths if path.exists()]
    under_roots = [document for document in known if _is_under(document.source_path, roots)]
    obsolete = [document for document in under_roots if _is_obsolete(document, operator_ids)]
    return sorted(obsolete, key=lambda document: document.knowledge_id)


def _is_under(source_path: str, roots: Iterable[str]) -> bool:
    return any(source_path == root or source_path.startswith(os.path.join(root, "")) for root in roots)


def _is_obsolete(document: KnownDocument, operator_ids: Mapping[str, str]) -> bool:
    if operator_ids.get(document.source_path, document.knowledge_id) != document.knowledge_id:
        return True
    try:
        os.lstat(document.source_path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
