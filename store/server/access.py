"""The roles of the embedded server and their passwords.

The server has three roles: a superuser, which only the supervisor uses; the owner of the tables; and the runtime role,
which answers questions. Their passwords are in a file of the data folder that only its account can read, and libpq
reads it there (`passfile`), so that no password is in a URL, an environment variable or a log.

Rule: until the file is complete, the server accepts every role without a password, as the versions before did. A
process that is killed in between changes nothing for the next one, which begins again. The socket's folder keeps other
accounts out at all times.
"""

import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from sourcebound.errors import StoreError
from sourcebound.store.server.binaries import SUPERUSER

OWNER: Final = "sourcebound_owner"
RUNTIME: Final = "sourcebound_runtime"
ROLES: Final = (SUPERUSER, OWNER, RUNTIME)
DATABASE: Final = "sourcebound"
OPEN_RULES: Final = "local all all trust\n"
CLOSED_RULES: Final = (
    "# Written by sourcebound. The passwords are in the file passwords.\nlocal all all scram-sha-256\n"
)
REFUSED: Final = re.compile(r"password authentication failed|no password supplied")

TRANSFER: Final = """
DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        SELECT format('ALTER TABLE %s OWNER TO sourcebound_owner', c.oid::regclass)
        FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
          AND c.relowner <> 'sourcebound_owner'::regrole
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO sourcebound_owner', p.oid::regprocedure)
        FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.proowner <> 'sourcebound_owner'::regrole
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE statement;
    END LOOP;
END $$
"""
"""Gives the tables and functions of earlier versions to the owner. Those of extensions stay as they are."""


def url_for(url: str, role: str) -> str:
    """Return the URL of the embedded database for another role.

    Args:
        url: A URL of the embedded server.
        role: One of `ROLES`.
    """
    return urlsplit(url)._replace(netloc=f"{role}@").geturl()


def is_refused(error: psycopg.OperationalError) -> bool:
    """Tell whether the server refused the password of a role."""
    return REFUSED.search(str(error)) is not None


class Access:
    """The roles of one data folder.

    Callers hold the lock `start.lock`, except for `password_file`.

    Args:
        data: The folder.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self.password_file = data / "passwords"
        self._rules = data / "pg_hba.conf"

    def is_closed(self) -> bool:
        """Tell whether the server accepts only roles with a password, and the passwords are there."""
        return self.password_file.exists() and self._rules.read_text() == CLOSED_RULES

    def reopen(self) -> None:
        """Before a start without passwords, let the server accept every role, so that `close` can make new ones."""
        if not self.password_file.exists():
            self._write(self._rules, OPEN_RULES)

    def close(self, connect: Callable[[str], psycopg.Connection]) -> None:
        """Make the roles and their passwords, give the tables to the owner, and require the passwords from now on.

        Args:
            connect: Opens a connection of the superuser to a database.

        Raises:
            psycopg.Error: The server refused a statement.
        """
        passwords = {role: secrets.token_urlsafe(32) for role in ROLES}
        with connect("postgres") as connection:
            known = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles")}
            for role in ROLES:
                name = sql.Identifier(role)
                if role not in known:
                    connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(name))
                secret = connection.pgconn.encrypt_password(passwords[role].encode(), role.encode(), b"scram-sha-256")
                connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, secret.decode()))
            connection.execute(f"ALTER DATABASE {DATABASE} OWNER TO {OWNER}")
        with connect(DATABASE) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")  # only a superuser may
            connection.execute(f"REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT CREATE ON SCHEMA public TO {OWNER}")
            connection.execute(TRANSFER)
            lines = [f"*:*:*:{role}:{password}\n" for role, password in passwords.items()]
            self._write(self.password_file, "".join(lines))
            self._write(self._rules, CLOSED_RULES)
            connection.execute("SELECT pg_reload_conf()")

    def refusal_error(self) -> StoreError:
        """Build the error for a server that refuses the password in the file."""
        return StoreError(
            f"The embedded database in {self._data.parent} refuses the password in {self.password_file}.",
            "Restore the file, or delete it and run `sourcebound db stop`: the next start makes new passwords.",
            code="PASSWORD_REFUSED",
        )

    def _write(self, path: Path, text: str) -> None:
        """Replace a file of the data folder. It belongs to the folder's account, which alone can read it."""
        partial = path.with_name(f"{path.name}.partial")
        partial.unlink(missing_ok=True)
        opened = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "w") as file:
            owner = self._data.stat()
            if owner.st_uid != os.geteuid():
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
