"""The archive's file: where it is, how it is opened, and the migrations that brought it to its shape."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat as statmod
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..errors import ArchiveError
from ..schema.record import IDLE_GAP
from . import counting

FILE = "archive.db"
PREP = 2
"""Version of the words that `indexing.texts` gives; an archive of another version is indexed anew."""
BUSY_MS = 30_000


def home(env: Mapping[str, str]) -> Path:
    """Backstory's own folder: `BACKSTORY_HOME`, else `~/.backstory`."""
    named = env.get("BACKSTORY_HOME", "").strip()
    return Path(named) if named else Path.home() / ".backstory"


def default_path(env: Mapping[str, str]) -> Path:
    """The archive in Backstory's folder."""
    return home(env) / FILE


def connect(path: Path, own: Path | None = None) -> sqlite3.Connection:
    """Open the archive, make it where there is none, and bring it to the newest shape. Raises `ArchiveError`.

    The file is closed to others (0600), and so are its folder when it is made here and `own`, Backstory's folder
    (0700); also where they existed wider before.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if own is not None:
            _close(own, 0o700)
        if path.exists():
            _close(path, 0o600)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_MS / 1000)
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        migrate(connection)
    except (sqlite3.Error, OSError) as error:
        raise ArchiveError(
            f"{path}: the archive cannot be opened: {error}. Is it one of Backstory's?"
        ) from error
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Have the archive written ahead. To begin with it, SQLite wants the file alone and waits for nobody."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _close(path: Path, mode: int) -> None:
    """Take the rights of others away. A shared folder (sticky, as /tmp is) and what others own stay as they are."""
    if os.name != "posix":
        return
    found = path.stat()
    if found.st_uid == os.getuid() and found.st_mode & 0o077 and not found.st_mode & statmod.S_ISVTX:
        path.chmod(mode)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write, whole or not at all; it waits for another writer's end."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextlib.contextmanager
def unless_busy(connection: sqlite3.Connection) -> Iterator[None]:
    """A write that may as well be left out: a page does not wait for a pass that writes."""
    connection.execute("PRAGMA busy_timeout = 100")
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Several readings of one moment, whatever another process writes meanwhile; within a transaction, of its own."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


@contextlib.contextmanager
def overwriting(connection: sqlite3.Connection, *indexes: str) -> Iterator[None]:
    """A write after which nothing that it took away can be read from the file, from these indexes neither."""
    connection.execute("PRAGMA secure_delete = ON")
    try:
        with transaction(connection):
            yield
            for index in indexes:
                connection.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.execute("PRAGMA secure_delete = OFF")


def _first(connection: sqlite3.Connection) -> None:
    """The tables as `tables.sql` has them."""
    _script(connection, "tables.sql")
    connection.execute("INSERT INTO meta VALUES ('next_step', 1)")
    connection.execute("INSERT INTO meta VALUES ('prep', ?)", (PREP,))
    connection.execute("INSERT INTO meta VALUES ('idle_gap', ?)", (IDLE_GAP,))
    # Merging rarely costs a query a few more look-ups, and saves a tenth of a first pass.
    connection.execute("INSERT INTO doc (doc, rank) VALUES ('automerge', 12)")


def _ledger(connection: sqlite3.Connection) -> None:
    """The columns and tables of `ledger.sql`, and which of the calls that are there count."""
    _script(connection, "ledger.sql")
    counting.fill(connection)


def _memory(connection: sqlite3.Connection) -> None:
    """The tables of `memory.sql`, with the workspace that is there from the start."""
    _script(connection, "memory.sql")


def _web(connection: sqlite3.Connection) -> None:
    """The tables of `web.sql`."""
    _script(connection, "web.sql")


MIGRATIONS: tuple[tuple[int, Callable[[sqlite3.Connection], None]], ...] = (
    (1, _first),
    (2, _ledger),
    (3, _memory),
    (4, _web),
)
"""Steps from one shape to the next, in order; only forward, and never changed once released."""


def migrate(connection: sqlite3.Connection) -> None:
    """Run what has not run yet, each in a transaction of its own."""
    newest = MIGRATIONS[-1][0]
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > newest:
        raise ArchiveError(
            f"this archive is of a newer Backstory (shape {version}, known here: {newest}). Update Backstory."
        )
    if version == newest:
        return
    for number, step in MIGRATIONS:
        with transaction(connection):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < number:
                step(connection)
                connection.execute(f"PRAGMA user_version = {number}")


def is_indexed(connection: sqlite3.Connection) -> bool:
    """Whether the index holds the words as they are prepared now."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'prep'").fetchone()
    return found is not None and found[0] == PREP


def _script(connection: sqlite3.Connection, name: str) -> None:
    for statement in _statements(Path(__file__).with_name(name).read_text("utf-8")):
        connection.execute(statement)


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
