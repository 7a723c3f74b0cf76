"""Reading the archive: lists of sessions, one session as a record, ids that people type."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import AmbiguousSession, UnknownSession
from ..schema.call import CallRow, Settled
from ..schema.record import Placed, Record, assemble, step_of
from ..schema.session import CopiedFrom, Fidelity, Session, Totals, TurnRow, merge_fidelity
from ..schema.step import ROOT, Step
from . import costs, rows, summary
from . import turns as turn_rows
from .blocks import BlockReader
from .derived import fates_of, short_id, state
from .results import Brief, Cost, Day, Fate, Judgement, Listed, State, Verdict
from .rows import SELECTED, Columns

_fidelity = msgspec.json.Decoder(Fidelity)

_LIST = (
    "SELECT session.*, step.id AS step_id, step.type, step.kind, step.subject, step.outcome, step.at AS step_at,"
    " verdict.session AS judged, verdict.verdict, verdict.note, verdict.at AS judged_at"
    " FROM session LEFT JOIN step ON step.n = session.last_step"
    " LEFT JOIN verdict ON verdict.session = session.n AND verdict.turn = ''"
)


class Filter(Struct, frozen=True):
    """Which sessions a list shows. Times are UTC epoch ms; a session counts at the time of its last step."""

    project: str | None = None
    since: int | None = None
    until: int | None = None
    surface: str | None = None
    model: str | None = None
    failing: bool = False
    verdict: Verdict | None = None

    def where(self) -> tuple[str, list[object]]:
        """The condition in SQL, and its values."""
        parts: list[str] = []
        values: list[object] = []
        for condition, value in (
            (
                "(session.project = ? COLLATE NOCASE OR rtrim(session.cwd, '/\\') = ?)",
                self.project.rstrip("/\\") if self.project else None,
            ),
            ("session.last_at >= ?", self.since),
            ("session.last_at < ?", self.until),
            ("session.surface = ?", self.surface),
            ("instr(lower(session.model), lower(?)) > 0", self.model),
            ("session.n IN (SELECT session FROM verdict WHERE turn = '' AND verdict = ?)", self.verdict),
        ):
            if value is not None:
                parts.append(condition)
                values += [value] * condition.count("?")
        if self.failing:
            parts.append("session.failing > 0")
        return " AND ".join(parts) or "1", values


def _query(connection: sqlite3.Connection, sql: str, values: list[object]) -> Iterator[sqlite3.Row]:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return iter(cursor.execute(sql, values))


def listed(
    connection: sqlite3.Connection,
    now: int,
    which: Filter,
    *,
    limit: int | None = None,
    only: frozenset[State] | None = None,
) -> list[Listed]:
    """Sessions, newest first."""
    where, values = which.where()
    shorts = short_ids(connection)
    found: list[Listed] = []
    sql = f"{_LIST} WHERE {where} ORDER BY session.last_at DESC, session.id DESC"
    for row in _query(connection, sql, values):
        if only is not None and _state(row, now) not in only:
            continue
        found.append(_listed(connection, row, now, shorts))
        if limit is not None and len(found) >= limit:
            break
    return found


def row_of(connection: sqlite3.Connection, session_id: str) -> sqlite3.Row:
    """One session's row with its last step and its verdict. Raises `UnknownSession`."""
    row = next(_query(connection, f"{_LIST} WHERE session.id = ?", [session_id]), None)
    if row is None:
        raise UnknownSession(f'There is no session "{session_id}" in the archive.')
    return row


def one_listed(connection: sqlite3.Connection, session_id: str, now: int) -> Listed:
    """One session as a list shows it. Raises `UnknownSession`."""
    row = row_of(connection, session_id)
    return _listed(connection, row, now, short_ids(connection))


def listed_by_number(connection: sqlite3.Connection, n: int, now: int) -> Listed:
    """One session by its number in the archive; the short id is taken as unique only when no other session has it."""
    row = next(_query(connection, f"{_LIST} WHERE session.n = ?", [n]))
    short = short_id(row["id"])
    (same,) = connection.execute(
        "SELECT count(*) FROM session WHERE substr(id, -length(?1)) = ?1", (short,)
    ).fetchone()
    return _listed(connection, row, now, {short: same})


def short_form(connection: sqlite3.Connection, session_id: str) -> str:
    """The short id where no other session has it, else the whole one."""
    short = short_id(session_id)
    (same,) = connection.execute(
        "SELECT count(*) FROM session WHERE substr(id, -length(?1)) = ?1", (short,)
    ).fetchone()
    return short if same < 2 else session_id


def _state(row: sqlite3.Row, now: int) -> State:
    return state(
        status=row["status"],
        ended_at=row["ended_at"],
        terminal_marker=row["terminal_marker"],
        error=row["error"],
        changed_at=row["changed_at"],
        open_call=bool(row["open_call"]),
        gone=row["gone_at"] is not None,
        now=now,
    )


def _listed(connection: sqlite3.Connection, row: sqlite3.Row, now: int, shorts: Mapping[str, int]) -> Listed:
    short = short_id(row["id"])
    last = None
    if row["step_id"] is not None:
        last = Brief(row["step_id"], row["type"], row["kind"], row["subject"], row["outcome"], row["step_at"])
    return Listed(
        session=replace(_session(connection, row), manifest=None),
        short_id=short if shorts.get(short, 0) < 2 else row["id"],
        state=_state(row, now),
        last_at=row["last_at"],
        length=row["length"],
        unseen=row["row_count"] - row["seen_count"],
        last_step=last,
        error=row["error"],
        cost=costs.of_session(connection, row["n"]),
        judgement=Judgement(row["verdict"], row["note"], row["judged_at"]) if row["judged"] else None,
    )


def session_cost(connection: sqlite3.Connection, session: int) -> Cost:
    """What a session came to, by its number in the archive."""
    return costs.of_session(connection, session)


def _session(connection: sqlite3.Connection, row: sqlite3.Row) -> Session:
    """A session's facts with what only the archive knows."""
    facts = summary.facts(connection, row["n"])
    assert facts is not None
    copied = None
    if row["copied_from"]:
        at = facts.copied_from.at if facts.copied_from else None
        copied = CopiedFrom(row["copied_from"], row["copied_kind"], row["copied_messages"], at)
    parts = [
        _fidelity.decode(data)
        for (data,) in connection.execute(
            "SELECT fidelity FROM file_state JOIN file ON file.n = file_state.file WHERE session = ?",
            (row["n"],),
        )
    ]
    return replace(
        facts,
        copied_from=copied,
        gone=row["gone_at"] is not None,
        fidelity=merge_fidelity([facts.fidelity, *parts]),
        totals=Totals(**{name: row[name] for name in Totals.__struct_fields__}),
    )


def record(connection: sqlite3.Connection, session_id: str, *, superseded: bool = False) -> Record:
    """One session, put together. Superseded steps are left out unless asked for. Raises `UnknownSession`."""
    row = row_of(connection, session_id)
    return put_together(connection, row, _placed(connection, row["n"], superseded))


def put_together(connection: sqlite3.Connection, row: sqlite3.Row, placed: Sequence[Placed]) -> Record:
    """A record of a session's row and of its steps."""
    n = row["n"]
    turns = [
        TurnRow(*values)
        for values in connection.execute(
            "SELECT turn.id, msg, mode, at, first_reply_at, quiet FROM turn JOIN file ON file.n = turn.file"
            " WHERE file.session = ? AND NOT turn.superseded ORDER BY msg",
            (n,),
        )
    ]
    ends = [at for (at,) in connection.execute("SELECT at FROM seen_end WHERE session = ?", (n,))]
    return assemble(
        _session(connection, row),
        summary.actors(connection, n),
        placed,
        turns,
        _calls(connection, n),
        seen_ends=ends,
        idle_gap=summary.idle_gap(connection),
    )


def _placed(connection: sqlite3.Connection, session: int, superseded: bool) -> list[Placed]:
    reader = BlockReader(connection)
    found = []
    for values in connection.execute(
        f"SELECT file.actor, {SELECTED}, step.superseded, block, offset, step.size FROM step"
        " JOIN file ON file.n = step.file LEFT JOIN turn ON turn.n = step.turn"
        " WHERE file.session = ? AND (NOT step.superseded OR ?) ORDER BY step.block, step.offset",
        (session, superseded),
    ):
        columns = Columns(*values[1:21])
        data = reader.body(*values[22:25])
        found.append(Placed(values[0], rows.row(columns, data, columns.turn), bool(values[21])))
    return found


def some_steps(
    connection: sqlite3.Connection, session: int, numbers: Sequence[int]
) -> dict[int, tuple[Step, int | None]]:
    """A few steps of a session with the index of their turn, without putting the session together.

    `seq` and `segment_index` are 0 in them: only the whole session can tell these.
    """
    reader = BlockReader(connection)
    (session_id,) = connection.execute("SELECT id FROM session WHERE n = ?", (session,)).fetchone()
    turns = turn_rows.of_session(connection, session)
    found = {}
    for n, actor, name, *values in connection.execute(
        f"SELECT step.n, file.actor, file.name, {SELECTED}, block, offset, step.size FROM step"
        " JOIN file ON file.n = step.file LEFT JOIN turn ON turn.n = step.turn"
        " WHERE step.n IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    ):
        columns = Columns(*values[:20])
        row = rows.row(columns, reader.body(*values[20:]), columns.turn)
        turn_id, index = turns.get(actor if actor != ROOT else columns.turn, (columns.turn, None))
        found[n] = (step_of(session_id, actor, name, row, turn_id), index)
    return found


def some_fates(connection: sqlite3.Connection, session: int) -> dict[str, Fate]:
    """What became of a session's failures, from its rows alone."""
    return fates_of(summary.ordered_facts(connection, session))


def _calls(connection: sqlite3.Connection, session: int) -> list[tuple[str, CallRow]]:
    """Every call that was made, also those whose message has left the source since; these carry a flag."""
    found = []
    for actor, superseded, counted, kind, amount, name, price, *values, words in connection.execute(
        "SELECT file.actor, superseded, counted, kind, amount, call.name, price, key, message_id, msg, fresh,"
        " cache_read, cache_write, output, at, turn, route, model, nano, flags"
        " FROM call JOIN file ON file.n = call.file WHERE file.session = ? ORDER BY call.file, msg",
        (session,),
    ):
        flags = [*(words.split(" ") if words else ()), *(("superseded",) if superseded else ())]
        fields = (*values, tuple(flags), Settled(bool(counted), kind, amount, name, price))
        found.append((actor, CallRow(*fields)))
    return found


def resolve(connection: sqlite3.Connection, text: str) -> str:
    """The id that a person meant: `last`, a whole id, a short id, or a beginning of either that fits only one.

    Raises `UnknownSession` or `AmbiguousSession`.
    """
    if text == "last":
        found = connection.execute("SELECT id FROM session ORDER BY last_at DESC, id DESC LIMIT 1").fetchone()
        if found is None:
            raise UnknownSession("There is no session in the archive yet.")
        return str(found[0])
    ids = [str(row[0]) for row in connection.execute("SELECT id FROM session ORDER BY last_at DESC")]
    if text in ids:
        return text
    for fits in (
        [session_id for session_id in ids if short_id(session_id) == text],
        [
            session_id
            for session_id in ids
            if short_id(session_id).startswith(text) or session_id.startswith(text)
        ],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            shown = ", ".join(_shown(session_id, ids) for session_id in fits[:5])
            more = f" and {len(fits) - 5} more" if len(fits) > 5 else ""
            raise AmbiguousSession(f'"{text}" fits {len(fits)} sessions: {shown}{more}. Write one of them.')
    raise UnknownSession(
        f'There is no session "{text}" in the archive. If Cline has it: backstory ingest --agent cline {text}'
    )


def _shown(session_id: str, ids: list[str]) -> str:
    short = short_id(session_id)
    return short if sum(short_id(other) == short for other in ids) < 2 else session_id


def short_ids(connection: sqlite3.Connection) -> dict[str, int]:
    """How many sessions have each short id."""
    counts: dict[str, int] = {}
    for (session_id,) in connection.execute("SELECT id FROM session"):
        short = short_id(session_id)
        counts[short] = counts.get(short, 0) + 1
    return counts


def days(
    connection: sqlite3.Connection,
    now: int,
    which: Filter,
    zone: tzinfo | None = None,
    only: frozenset[State] | None = None,
) -> dict[date, Day]:
    """Sessions, their files and their cost, by the day of their last step in a zone (null: this machine's)."""
    where, values = which.where()
    found: dict[date, Day] = {}
    spent = costs.by_session(connection, where, values)
    for row in _query(connection, f"SELECT * FROM session WHERE {where}", values):
        if row["last_at"] is None or (only is not None and _state(row, now) not in only):
            continue
        day = datetime.fromtimestamp(row["last_at"] / 1000, UTC).astimezone(zone).date()
        before, cost = found.get(day, Day(0, 0)), spent.get(row["n"], Cost())
        covered = cost.calls.get("covered", 0) > 0 and cost.calls["covered"] == sum(cost.calls.values())
        found[day] = Day(
            sessions=before.sessions + 1,
            files=before.files + row["files"],
            cost=before.cost + cost,
            covered=before.covered + covered,
        )
    return found
