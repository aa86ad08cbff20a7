"""A machine whose kernel lacks some system calls: `python older_kernel.py NAME,… COMMAND…` runs the command there.

A filter answers the named calls as a kernel without them does.
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
    "x86_64": {"seccomp": 317, "unshare": 272, "setuid": 105, "setgid": 106, "prlimit64": 302, "kill": 62},
    "aarch64": {"seccomp": 277, "unshare": 97, "setuid": 146, "setgid": 144, "prlimit64": 261, "kill": 129},
}
SHARED: Final = {"landlock_create_ruleset": 444, "landlock_restrict_self": 446}


def remove_calls(names: list[str]) -> None:
    """Let the named system calls fail in this process and its children, as if the kernel did not have them."""
    numbers = NUMBERS[MACHINE] | SHARED
    call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    seccomp.install(seccomp.PROCESSORS[MACHINE], [numbers[name] for name in names], ABSENT, seccomp.ALLOW)


if __name__ == "__main__":
    remove_calls([name for name in sys.argv[1].split(",") if name])
    os.execv(sys.argv[2], sys.argv[2:])
