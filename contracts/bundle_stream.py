"""Retrieval bundles that come as a stream of JSON: one a line, or one after another over any number of lines (R1-1).

The reader is fed bytes and gives bundles; it holds one of them at most. What cannot be read stands in the stream at its
place, so that whatever was sent has a response, and what follows is read.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sourcebound.contracts.intake import unreadable

MAX_BUNDLE_BYTES: Final = 16 * 2**20
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
KINDS: Final = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
DECODER: Final = json.JSONDecoder()


class StreamedBundle(NamedTuple):
    """One value of the stream."""

    line: int
    """The line on which it begins, from 1."""
    bundle: dict[str, Any]
    """The bundle, or what stands in its place (`intake.unreadable`)."""
    fault: str = ""
    """Why it is none; empty where it is one."""


class BundleReader:
    """Takes a stream apart into bundles.

    A line with `{` in its first column begins a bundle, whatever came of the one before, so that a broken one costs no
    other. Lines without anything on them are passed over.

    Args:
        max_bytes: The longest bundle; a longer one is not held, and is a fault.
    """

    def __init__(self, max_bytes: int = MAX_BUNDLE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line: bytearray | None = bytearray()  # the line that has not ended yet; None where it is too long
        self._number = 0
        self._held: list[bytes] = []  # the lines of the bundle that has not ended yet
        self._start = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[StreamedBundle]:
        """The bundles that end within the next bytes."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._extend(part)
            yield from self._end_line()
        self._extend(rest)

    def close(self) -> Iterator[StreamedBundle]:
        """What is left at the end of the stream."""
        yield from self._end_line()
        yield from self._finish()

    def _extend(self, part: bytes) -> None:
        if self._line is not None and len(self._line) + len(part) <= self._max_bytes:
            self._line += part
        else:
            self._line = None

    def _end_line(self) -> Iterator[StreamedBundle]:
        line, self._line = self._line, bytearray()
        self._number += 1
        if line is None:
            yield from self._refuse()
            return
        text = bytes(line).removeprefix(BYTE_ORDER_MARK if self._number == 1 else b"")
        if text.startswith(b"{"):
            yield from self._finish()
            self._skipping = False
        if self._skipping or not text.strip():
            return
        self._start = self._start if self._held else self._number
        if sum(map(len, self._held)) + len(text) > self._max_bytes:
            yield from self._refuse()
            return
        self._held.append(text)
        if text.rstrip().endswith(b"}") and (len(self._held) == 1 or text.startswith(b"}")):
            yield from self._finish(only_whole=True)

    def _refuse(self) -> Iterator[StreamedBundle]:
        """What is too long is not held, and neither is what belongs to it."""
        line = self._start if self._held else self._number
        self._held, self._skipping = [], True
        yield _broken(line, f"it is longer than {self._max_bytes} bytes")

    def _finish(self, *, only_whole: bool = False) -> Iterator[StreamedBundle]:
        """The values of the lines held; nothing, and they stay, where they may go on."""
        if not self._held:
            return
        values, fault = _decode(b"\n".join(self._held))
        if fault and only_whole:
            return
        self._held = []
        for value in values:
            if isinstance(value, dict):
                yield StreamedBundle(self._start, value)
            else:
                yield _broken(self._start, f"it holds no JSON object but {KINDS.get(type(value), 'null')}")
        if fault:
            yield _broken(self._start, fault)


def _decode(data: bytes) -> tuple[list[object], str]:
    """The JSON values that stand one after another, and why what follows them is none; empty where nothing does."""
    values: list[object] = []
    try:
        text = data.decode().strip()
        while text:
            value, end = DECODER.raw_decode(text)
            values.append(value)
            text = text[end:].lstrip()
    except json.JSONDecodeError as error:
        return values, f"it is not JSON: {error.msg}, line {error.lineno} column {error.colno} of it"
    except UnicodeDecodeError:
        return values, "it is not UTF-8"
    except (ValueError, RecursionError):
        return values, "it is not JSON that can be read: a number is too long, or it is nested too deeply"
    return values, ""


def _broken(line: int, reason: str) -> StreamedBundle:
    fault = f"line {line} of the stream is no bundle: {reason}"
    return StreamedBundle(line, unreadable(fault), fault)
