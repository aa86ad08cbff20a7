"""A parser process like the product's own, in which the name of a file selects what happens: `hang.txt` hangs.

Tests run it as `python hostile_worker.py MEMORY_MEGABYTES SECONDS [GRACE_SECONDS]`.
"""

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sourcebound.contracts.corpus.document import DocumentMetadata, Page, ParsedDocument
from sourcebound.ingest.loaders.select import parse_document
from sourcebound.ingest.sandbox import worker


def _hang(_data: bytes) -> str:
    while True:
        pass


def _stick(_data: bytes) -> str:
    ctypes.CDLL(None).sleep(3600)
    return ""


def _devour(_data: bytes) -> str:
    held = []
    while True:
        held.append(bytes(10_000_000))  # only reserved, so that the limit is reached at once on a slow machine too


def _crash(_data: bytes) -> str:
    return str(ctypes.string_at(0))


def _leave(_data: bytes) -> str:
    os._exit(7)


def _fail(_data: bytes) -> str:
    raise KeyError("a defect")


def _nest(data: bytes) -> str:
    return _nest(data) + "."


def _connect(data: bytes) -> str:
    socket.create_connection(("127.0.0.1", int(data)), timeout=5)
    return "connected"


def _connect_natively(data: bytes) -> str:
    """Connect without the interpreter, as a parser written in C would."""
    libc = ctypes.CDLL(None, use_errno=True)
    address = (
        socket.AF_INET.to_bytes(2, sys.byteorder) + int(data).to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    )
    descriptor = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    return "connected" if libc.connect(descriptor, address, len(address)) == 0 else os.strerror(ctypes.get_errno())


def _run(_data: bytes) -> str:
    subprocess.run(["true"], check=True)
    return "ran"


def _write(data: bytes) -> str:
    Path(data.decode()).write_text("written")
    return "written"


def _print(_data: bytes) -> str:
    print("noise", flush=True)
    os.write(1, b"more noise")
    return "printed"


def _show_environment(_data: bytes) -> str:
    return " ".join(os.environ)


def _lie(_data: bytes) -> str:
    os.write(_descriptor_of_the_way_back(), worker.REPLY.pack(worker.DOCUMENT, 9) + b"{not json")
    return ""


def _boast(_data: bytes) -> str:
    os.write(_descriptor_of_the_way_back(), worker.REPLY.pack(worker.DOCUMENT, 1 << 62))
    return ""


def _descriptor_of_the_way_back() -> int:
    """Return the descriptor of the reply pipe: the worker moves standard output to the first free number."""
    return 3


ACTS: dict[str, Callable[[bytes], str]] = {
    "hang": _hang,
    "stick": _stick,
    "devour": _devour,
    "crash": _crash,
    "leave": _leave,
    "fail": _fail,
    "nest": _nest,
    "connect": _connect,
    "native": _connect_natively,
    "run": _run,
    "write": _write,
    "print": _print,
    "environment": _show_environment,
    "lie": _lie,
    "boast": _boast,
}


def load(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Do what the name of the file says. Any other file is loaded normally."""
    if path.stem not in ACTS:
        return parse_document(path, data, max_bytes)
    page = Page(index=0, text=ACTS[path.stem](data))
    return ParsedDocument(media_type="text/plain", metadata=DocumentMetadata(title=path.stem), pages=(page,))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        worker.GRACE_SECONDS = float(sys.argv[3])  # type: ignore[misc, assignment]
    worker.serve(int(sys.argv[1]), float(sys.argv[2]), load)
