"""A pgbouncer in transaction mode in front of the tests' server."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import psycopg
import pytest

from sourcebound.store.server.accounts import current_account
from support.processes.homes import reachable_folder, wait_until

PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
POOL_SIZE = 5
PORT = 6432
needs_pgbouncer = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed (package pgbouncer)")


@contextlib.contextmanager
def pooled(url: str) -> Iterator[str]:
    """Run a pgbouncer in front of a database, with `POOL_SIZE` connections to it, and yield the URL to use instead."""
    account, place = current_account(), urlsplit(url)
    server = parse_qs(place.query)
    with reachable_folder() as folder:
        account.adopt(folder)
        (folder / "users.txt").write_text(f'"{place.username}" "{_password(place.username, server)}"\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={server['host'][0]} port={server['port'][0]}\n"
            f"[pgbouncer]\nunix_socket_dir = {folder}\nlisten_addr =\nlisten_port = {PORT}\n"
            f"auth_type = trust\nauth_file = {folder}/users.txt\nlogfile = {folder}/log\n"
            f"pool_mode = transaction\ndefault_pool_size = {POOL_SIZE}\nmax_client_conn = 1000\n"
        )
        assert PROGRAM is not None
        process = subprocess.Popen(
            [PROGRAM, "-q", str(folder / "pgbouncer.ini")],
            user=account.uid if account.switched else None,
            group=account.gid if account.switched else None,
            extra_groups=[] if account.switched else None,
            cwd="/",
        )
        try:
            pooler = place._replace(query=f"host={quote(str(folder), safe='')}&port={PORT}").geturl()
            wait_until(lambda: _answers(pooler))
            yield pooler
        finally:
            process.kill()
            process.wait()


def _password(role: str | None, server: dict[str, list[str]]) -> str:
    """Return the password of a role of the embedded server."""
    lines = [line.split(":") for line in Path(server["passfile"][0]).read_text().splitlines()]
    return next(password for *_, name, password in lines if name == role)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
