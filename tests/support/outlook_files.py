"""Small Outlook messages (.msg), in a compound file of streams below 4,096 bytes ([MS-CFB], [MS-OXMSG])."""

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

SECTOR: Final = 512
MINI: Final = 64
END, FREE, FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
STREAM, STORAGE, ROOT = 2, 1, 5
TEXT, BINARY, NUMBER, TIME = 0x001F, 0x0102, 0x0003, 0x0040
SUBJECT, BODY, HTML, RICH_TEXT, SENT = 0x0037, 0x1000, 0x1013, 0x1009, 0x0039
HEADERS, SENDER, SENDER_ADDRESS = 0x007D, 0x0C1A, 0x0C1F
NAME, ADDRESS, RECIPIENT_KIND = 0x3001, 0x39FE, 0x0C15
FILE_NAME, SHORT_FILE_NAME, CODE_PAGE = 0x3707, 0x3704, 0x3FDE
Value = str | bytes | int | datetime
Properties = Mapping[int, Value]


def outlook_message(
    message: Properties, recipients: Sequence[Properties] = (), attachments: Sequence[Properties] = ()
) -> bytes:
    """Write a message with its recipients and attachments."""
    counts = struct.pack("<8x4I8x", len(recipients), len(attachments), len(recipients), len(attachments))
    streams = _streams(message, counts)
    for name, group in (("recip", recipients), ("attach", attachments)):
        for number, properties in enumerate(group):
            folder = f"__{name}_version1.0_#{number:08X}"
            streams |= {f"{folder}/{key}": value for key, value in _streams(properties, bytes(8)).items()}
    return compound_file(streams)


def _streams(properties: Properties, header: bytes) -> dict[str, bytes]:
    entries, streams = [header], {}
    for name, value in properties.items():
        kind, content, fixed = _encode(value)
        entries.append(struct.pack("<HHI8s", kind, name, 6, fixed))
        if content is not None:
            streams[f"__substg1.0_{name:04X}{kind:04X}"] = content
    return {"__properties_version1.0": b"".join(entries), **streams}


def _encode(value: Value) -> tuple[int, bytes | None, bytes]:
    if isinstance(value, int):
        return NUMBER, None, struct.pack("<Q", value)
    if isinstance(value, datetime):
        ticks = int((value - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000
        return TIME, None, struct.pack("<Q", ticks)
    content = value.encode("utf-16-le") if isinstance(value, str) else value
    return TEXT if isinstance(value, str) else BINARY, content, struct.pack("<II", len(content), 0)


def compound_file(streams: Mapping[str, bytes]) -> bytes:
    """Write a compound file of streams, whose names may have one folder before a slash."""
    mini, mini_table = bytearray(), list[int]()
    tree: dict[str, list[str]] = {"": []}
    places: dict[str, tuple[int, int]] = {}
    for name, content in streams.items():
        folder = name.rpartition("/")[0]
        if folder not in tree:
            tree[folder] = []
            tree[""].append(folder)
        tree[folder].append(name)
        places[name] = (len(mini_table) if content else END, len(content))
        mini_table += _chain(len(mini_table), -(-len(content) // MINI))
        mini += _pad(content, MINI)
    order = [name for folder in tree for name in tree[folder]]
    numbers = {name: number for number, name in enumerate(order, start=1)}
    directory_sectors = -(-(len(order) + 1) // 4)
    table = _pad(struct.pack(f"<{len(mini_table)}I", *mini_table), SECTOR, b"\xff")
    first_table, first_mini = directory_sectors, directory_sectors + len(table) // SECTOR
    entries = [_entry("Root Entry", ROOT, FREE, numbers[tree[""][0]], first_mini, len(mini))]
    for folder, names in tree.items():
        for position, name in enumerate(names):
            right = numbers[names[position + 1]] if position + 1 < len(names) else FREE
            is_folder = not folder and name in tree
            child = numbers[tree[name][0]] if is_folder else FREE
            start, size = (0, 0) if is_folder else places[name]
            entries.append(_entry(name.rpartition("/")[2], STORAGE if is_folder else STREAM, right, child, start, size))
    content = _pad(bytes(mini), SECTOR)
    chains = [
        *_chain(0, directory_sectors),
        *_chain(first_table, len(table) // SECTOR),
        *_chain(first_mini, len(content) // SECTOR),
    ]
    first_allocation, count = len(chains), -(-len(chains) // (SECTOR // 4 - 1))
    chains += [FAT] * count
    header = struct.pack(
        "<8s16s5H6x10I",
        *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", bytes(16), 0x3E, 3, 0xFFFE, 9, 6),
        *(0, count, 0, 0, 4096, first_table, len(table) // SECTOR, END, 0, first_allocation),
    )
    header += struct.pack("<108I", *range(first_allocation + 1, len(chains)), *[FREE] * (109 - count))
    allocation = _pad(struct.pack(f"<{len(chains)}I", *chains), SECTOR, b"\xff")
    return header + _pad(b"".join(entries), SECTOR) + table + content + allocation


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le") + b"\0\0"
    return struct.pack("<64sHBB3I36xIQ", encoded, len(encoded), kind, 1, FREE, right, child, start, size)


def _chain(first: int, length: int) -> list[int]:
    return [*range(first + 1, first + length), END] if length else []


def _pad(content: bytes, size: int, filler: bytes = b"\0") -> bytes:
    return content + filler * (-len(content) % size)
