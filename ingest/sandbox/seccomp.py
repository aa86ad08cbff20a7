"""The filter of system calls: the Linux kernel refuses every call that a parser does not need.

The filter is an allow-list. A parser computes in memory and reads and writes pipes that are open already. It opens
nothing, starts nothing and signals nothing, so each other call fails with `EPERM`, also those of future kernels.
"""

import ctypes
import errno
from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.ingest.sandbox.kernel import MACHINE, system_call

SET_FILTER: Final = 1
ALL_THREADS: Final = 1
"""`SECCOMP_SET_MODE_FILTER` and `SECCOMP_FILTER_FLAG_TSYNC`."""
KILL: Final = 0x80000000
REFUSE: Final = 0x00050000 | errno.EPERM
ALLOW: Final = 0x7FFF0000
"""The results of a filter: end the process, let the call fail, make the call."""
LOAD: Final = 0x20
JUMP_IF_EQUAL: Final = 0x15
RETURN: Final = 0x06
"""Instructions of the Berkeley Packet Filter: load a word of the call, compare it, return a result."""
NUMBER_OFFSET: Final = 0
MACHINE_OFFSET: Final = 4
"""The offsets, in bytes, of the call's number and of its processor in what a filter sees."""


class _Processor(NamedTuple):
    """A processor's code, the number of `seccomp` and the numbers of the calls in the order of `ALLOWED`."""

    code: int
    seccomp: int
    numbers: tuple[int, ...]


ALLOWED: Final = (
    *("read", "write", "readv", "writev", "close", "fstat", "lseek"),
    *("mmap", "munmap", "mremap", "mprotect", "madvise", "brk"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "setitimer", "getitimer", "restart_syscall"),
    *("clock_gettime", "clock_getres", "gettimeofday", "nanosleep", "clock_nanosleep"),
    *("futex", "membarrier", "sched_yield", "getpid", "gettid", "getrandom", "exit", "exit_group"),
)
"""The calls that remain: memory, open pipes, own signals and alarm, clocks, locks, random numbers and the end."""
PROCESSORS: Final = {
    "x86_64": _Processor(
        0xC000003E,
        317,
        (
            *(0, 1, 19, 20, 3, 5, 8),
            *(9, 11, 25, 10, 28, 12),
            *(13, 14, 15, 131, 38, 36, 219),
            *(228, 229, 96, 35, 230),
            *(202, 324, 24, 39, 186, 318, 60, 231),
        ),
    ),
    "aarch64": _Processor(
        0xC00000B7,
        277,
        (
            *(63, 64, 65, 66, 57, 80, 62),
            *(222, 215, 216, 226, 233, 214),
            *(134, 135, 139, 132, 103, 102, 128),
            *(113, 114, 169, 101, 115),
            *(98, 283, 124, 172, 178, 278, 93, 94),
        ),
    ),
}


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.c_void_p))


def allow_only_parsing() -> None:
    """Refuse every system call of this process that is not in `ALLOWED` (IX-2). It must have set `no_new_privs`.

    Raises:
        OSError: The kernel has no such filters, or the numbers of its calls are not known here.
    """
    processor = PROCESSORS.get(MACHINE)
    if processor is None:
        raise OSError("system calls are filtered on Linux with x86_64 or aarch64 only")
    install(processor, processor.numbers, ALLOW, REFUSE)


def install(processor: _Processor, numbers: Sequence[int], listed: int, other: int) -> None:
    """Install a filter on all threads. It cannot be removed.

    Args:
        processor: This machine's processor. A call that another processor's code makes ends the process.
        numbers: The numbers of at most 250 calls.
        listed: The result for these calls.
        other: The result for all other calls.

    Raises:
        OSError: The kernel refuses the filter.
    """
    steps = [
        (LOAD, 0, 0, MACHINE_OFFSET),
        (JUMP_IF_EQUAL, 1, 0, processor.code),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_OFFSET),
        *((JUMP_IF_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)),
        (RETURN, 0, 0, other),
        (RETURN, 0, 0, listed),
    ]
    instructions = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    program = _Program(len(steps), ctypes.addressof(instructions))
    system_call(processor.seccomp, SET_FILTER, ALL_THREADS, ctypes.addressof(program))
