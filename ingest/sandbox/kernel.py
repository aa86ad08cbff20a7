"""Calls of the C library and the kernel that Python does not offer. Each one reports a refusal as `OSError`."""

import ctypes
import os
import platform
import sys
from typing import Final

SIXTY_FOUR_BIT: Final = sys.maxsize > 1 << 32
MACHINE: Final = platform.machine() if sys.platform == "linux" and SIXTY_FOUR_BIT else ""
"""The processor of a Linux system, such as `x86_64`; empty elsewhere and for a 32-bit interpreter."""


def call(name: str, *arguments: int | bytes) -> int:
    """Call a function of the C library.

    Args:
        name: Its name.
        arguments: Whole numbers, addresses and paths.

    Returns:
        Its result.

    Raises:
        OSError: The call failed, or the C library has no such function.
    """
    try:
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (AttributeError, TypeError) as error:  # Windows has no such library
        raise OSError(f"this system has no {name}") from error
    function.restype = ctypes.c_long
    ctypes.set_errno(0)
    result: int = function(*(each if isinstance(each, bytes) else ctypes.c_long(each) for each in arguments))
    if ctypes.c_int(result).value == -1:  # a function that returns `int` leaves the upper half undefined
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def system_call(number: int, *arguments: int) -> int:
    """Call the kernel by number.

    Raises:
        OSError: The kernel refused the call or does not have it.
    """
    return call("syscall", number, *arguments)
