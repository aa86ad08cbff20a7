"""A machine without some system calls or capabilities: `python older_kernel.py NAME,… COMMAND…` runs the command there.

A filter answers the named calls as a kernel without them does. A container can lack the named capabilities.
"""

import errno
import os
import sys
from typing import Final

from sourcebound.ingest.sandbox import seccomp
from sourcebound.ingest.sandbox.confinement import SET_NO_NEW_PRIVILEGES
from sourcebound.ingest.sandbox.kernel import MACHINE, call

ABSENT: Final = 0x00050000 | errno.ENOSYS
NUMBERS: Final = {
    "x86_64": {"seccomp": 317, "unshare": 272, "setuid": 105, "setgid": 106, "prlimit64": 302},
    "aarch64": {"seccomp": 277, "unshare": 97, "setuid": 146, "setgid": 144, "prlimit64": 261},
}
CAPABILITIES: Final = {"CAP_KILL": 5}
DROP_CAPABILITY: Final = 24
SHARED: Final = {"landlock_create_ruleset": 444, "landlock_restrict_self": 446}


def remove(names: list[str]) -> None:
    """Let the named calls fail in this process and its children, and drop the named capabilities of its children."""
    numbers = NUMBERS[MACHINE] | SHARED
    for name in CAPABILITIES.keys() & set(names):
        call("prctl", DROP_CAPABILITY, CAPABILITIES[name], 0, 0, 0)
    call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    seccomp.install(
        seccomp.PROCESSORS[MACHINE],
        [numbers[name] for name in names if name not in CAPABILITIES],
        ABSENT,
        seccomp.ALLOW,
    )


if __name__ == "__main__":
    remove([name for name in sys.argv[1].split(",") if name])
    os.execv(sys.argv[2], sys.argv[2:])
