"""Full text search over steps: words to steps by the index, then the passages of the best out of their bodies."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from ..schema.step import Command, Edit, Message, Payload, Read, StepError
from . import indexing, read, spelling
from .read import Filter
from .results import Found, Hit, Scope, SessionHits

NEWEST = 20_000
"""Of a query that matches more places, only the newest are ranked."""
RANKED = 400
"""Places whose rows are looked at, after the index has ranked them by words alone."""
COUNTED = 2_000
"""Matches up to which superseded steps are taken off the count, and sessions are counted."""
PASSAGE = 160

_WEIGHT = {
    ("message", "user"): 2.2,
    ("message", "assistant"): 1.3,
    ("message", "thinking"): 0.8,
    ("message", "system"): 0.6,
    ("command", 0): 1.6,
    ("command", 1): 1.0,
    ("read", 0): 1.1,
    ("read", 1): 0.7,
    ("edit", 0): 1.4,
}
_SCOPES: dict[Scope, str] = {
    "everything": "1",
    "prompts": "step.type = 'message' AND step.kind = 'user'",
    "answers": "step.type = 'message' AND step.kind = 'assistant'",
    "commands": "step.type = 'command' AND doc.rowid % 2 = 0",
    "outputs": "step.type != 'message' AND doc.rowid % 2 = 1",
    "files": "step.type IN ('read', 'edit') AND doc.rowid % 2 = 0",
}
_term = re.compile(r'"([^"]+)"|(\S+)')
_word = re.compile(r"\w+", re.UNICODE)


class Place(Struct, frozen=True):
    """A match: the step's number and which side of it, and how well the words fit."""

    n: int
    part: int
    score: float
    session: int
    failed: bool = False


class Matched(Struct, frozen=True):
    """How many steps match a query, and in how many sessions; null where that was not counted."""

    total: int
    sessions: int | None
    newest: int | None


def terms(query: str) -> list[str]:
    """The words and quoted phrases of a query, as the index has them; each becomes one phrase."""
    found = []
    for quoted, plain in _term.findall(query):
        phrase = " ".join(_word.findall(indexing.prepared(quoted or plain)))
        if phrase:
            found.append(phrase)
    return found


def search(
    connection: sqlite3.Connection,
    query: str,
    now: int,
    *,
    scope: Scope = "everything",
    which: Filter | None = None,
    limit: int = 10,
    per_session: int = 3,
) -> Found:
    """The best places for a query. All its words must match; where none do, beginnings of words are tried, then the
    words that were most likely meant.
    """
    (searched,) = connection.execute("SELECT count(*) FROM session").fetchone()
    words = terms(query)
    if not words:
        return Found(query, 0, 0, (), searched)
    which = which or Filter()
    widened, mended = False, dict[str, str]()
    places, matched = _places(connection, expression(words), scope, which)
    if not places:
        widened = True
        places, matched = _places(connection, expression(words, widened=True), scope, which)
    if not places and (mended := spelling.repaired(connection, words)):
        widened = False
        words = [mended.get(word, word) for word in words]
        places, matched = _places(connection, expression(words), scope, which)
    sessions = _group(connection, places)
    total, session_count = matched.total, matched.sessions or len(sessions)
    looked_for = pattern(words, widened=widened)
    hits = [_session_hits(connection, n, own, looked_for, now, per_session) for n, own in sessions[:limit]]
    return Found(
        query,
        total,
        session_count,
        tuple(sorted(hits, key=lambda group: not any(map(_is_mended, group.hits)))),
        searched,
        newest_only=matched.newest,
        widened=widened and bool(hits),
        words=tuple(words),
        repaired=mended if hits else {},
    )


def _is_mended(hit: Hit) -> bool:
    """Whether a hit is an error that was mended later: what one looks for an error for, so it comes first."""
    return hit.part == "out" and hit.fate is not None and hit.fate.mended_by is not None


def expression(words: Sequence[str], *, widened: bool = False) -> str:
    """The question to the index: all of the words, each a phrase or the beginning of one."""
    return " ".join(f'"{word}"{"*" if widened else ""}' for word in words)


def pattern(words: Sequence[str], *, widened: bool = False) -> re.Pattern[str]:
    """What of a text matches the words of a query."""
    return re.compile("|".join(_pattern(word, widened) for word in words), re.IGNORECASE)


def _pattern(phrase: str, widened: bool) -> str:
    """A phrase as it may stand in the text: its words with anything that is no word between them."""
    words = phrase.split(" ")
    cjk = len(words) > 1 and all(len(word) == 2 and not word.isascii() for word in words)
    if cjk:
        return re.escape(words[0] + "".join(word[1] for word in words[1:]))
    joined = r"[\W_]+".join(map(re.escape, words))
    return joined + (r"\w*" if widened else "")


def _places(
    connection: sqlite3.Connection, asked: str, scope: Scope, which: Filter
) -> tuple[list[Place], Matched]:
    """Matches, best first, and how many there are in all."""
    where, values = which.where()
    plain = scope == "everything" and where == "1"
    joined = (
        ""
        if plain
        else " JOIN step ON step.n = doc.rowid / 2 JOIN file ON file.n = step.file"
        " JOIN session ON session.n = file.session"
    )
    condition = "1" if plain else f"{_SCOPES[scope]} AND {where}"
    sql = (
        f"SELECT doc.rowid FROM doc{joined} WHERE doc MATCH ? AND {condition} ORDER BY doc.rowid DESC LIMIT ?"
    )
    rowids = [row[0] for row in connection.execute(sql, [asked, *values, NEWEST + 1])]
    newest = NEWEST if len(rowids) > NEWEST else None
    if not rowids:
        return [], Matched(0, 0, None)
    oldest = rowids[min(len(rowids), NEWEST) - 1]
    ranked = connection.execute(
        f"SELECT doc.rowid, bm25(doc) FROM doc{joined} WHERE doc MATCH ? AND doc.rowid >= ? AND {condition}"
        " ORDER BY bm25(doc) LIMIT ?",
        [asked, oldest, *values, RANKED],
    ).fetchall()
    return _weighed(connection, ranked), _count(connection, [rowid // 2 for rowid in rowids[:NEWEST]], newest)


def _count(connection: sqlite3.Connection, numbers: list[int], newest: int | None) -> Matched:
    """How many steps match, in how many sessions: exact for as many as a person would look through."""
    distinct = sorted(set(numbers))
    if len(distinct) > COUNTED:
        return Matched(len(distinct), None, newest)
    marks = ",".join("?" * len(distinct))
    total, sessions = connection.execute(
        "SELECT count(*), count(DISTINCT file.session) FROM step JOIN file ON file.n = step.file"
        f" WHERE step.n IN ({marks}) AND NOT step.superseded",
        distinct,
    ).fetchone()
    return Matched(total, sessions, newest)


def _weighed(connection: sqlite3.Connection, ranked: Sequence[tuple[int, float]]) -> list[Place]:
    """The places of current steps, weighed by what kind of text matched; one a step."""
    numbers = sorted({rowid // 2 for rowid, _ in ranked})
    marks = ",".join("?" * len(numbers))
    facts = {
        n: (kind, detail, outcome, session)
        for n, kind, detail, outcome, session in connection.execute(
            "SELECT step.n, step.type, step.kind, step.outcome, file.session FROM step"
            f" JOIN file ON file.n = step.file WHERE step.n IN ({marks}) AND NOT step.superseded",
            numbers,
        )
    }
    best: dict[int, Place] = {}
    for rowid, rank in ranked:
        n, part = divmod(rowid, 2)
        if n not in facts:
            continue
        kind, detail, outcome, session = facts[n]
        weight = _WEIGHT.get((kind, detail if kind == "message" else part), 0.9)
        if outcome == "failed":
            weight *= 1.2
        error = outcome == "failed" and part == 1
        place = Place(n, part, -rank * weight, session, error)
        if n not in best or place.score > best[n].score:
            best[n] = place
    return sorted(best.values(), key=lambda place: (-place.score, -place.n))


def _group(connection: sqlite3.Connection, places: Sequence[Place]) -> list[tuple[int, list[Place]]]:
    """Places by session; a session ranks by its best place, the newer one first among equals."""
    by_session: dict[int, list[Place]] = {}
    for place in places:
        by_session.setdefault(place.session, []).append(place)
    return sorted(by_session.items(), key=lambda entry: (-entry[1][0].score, -entry[1][0].n))


def _session_hits(
    connection: sqlite3.Connection,
    session: int,
    places: Sequence[Place],
    looked_for: re.Pattern[str],
    now: int,
    per: int,
) -> SessionHits:
    """The best places of one session with their passages; only the bodies of these are opened."""
    failed = [place.n for place in places if place.failed]
    fates = read.some_fates(connection, session) if failed else {}
    marks = ",".join("?" * len(failed))
    names = dict(connection.execute(f"SELECT n, id FROM step WHERE n IN ({marks})", failed))
    mended = {n for n, name in names.items() if name in fates and fates[name].mended_by is not None}
    shown = sorted(places, key=lambda place: place.n not in mended)[:per]
    steps = read.some_steps(connection, session, [place.n for place in shown])
    if not fates and any(step.outcome == "failed" for step, _ in steps.values()):
        fates = read.some_fates(connection, session)
    hits = []
    for place in shown:
        step, turn_index = steps[place.n]
        text, spans, line, lines = passage(side(step.payload, step.error, place.part), looked_for)
        hits.append(
            Hit(
                step=step,
                turn_index=turn_index,
                part="out" if place.part else "in",
                text=text,
                spans=spans,
                line=line,
                lines=lines,
                fate=fates.get(step.id),
            )
        )
    return SessionHits(read.listed_by_number(connection, session, now), tuple(hits), len(places) - len(hits))


def side(payload: Payload, error: StepError | None, part: int) -> str:
    """The whole text of one side of a step."""
    if part:
        if isinstance(payload, Command):
            text = payload.stdout
        elif isinstance(payload, Read):
            text = payload.content
        else:
            raw = getattr(payload, "raw", None)
            text = indexing.flat(raw.get("result")) if isinstance(raw, dict) else ""
        extra = error.message if error is not None and error.kind != "exit_code" else ""
        return "\n".join(filter(None, (text, extra)))
    if isinstance(payload, Message):
        return payload.text
    if isinstance(payload, Command):
        return payload.command
    if isinstance(payload, Read):
        return payload.path
    if isinstance(payload, Edit):
        return "\n".join(filter(None, (payload.path, payload.new_string, payload.hunks, payload.old_string)))
    raw = payload.raw
    return f"{payload.tool_name} {indexing.flat(raw.get('input') if isinstance(raw, dict) else raw)}"


def passage(text: str, looked_for: re.Pattern[str]) -> tuple[str, tuple[tuple[int, int], ...], int, int]:
    """The line around the first match: (text, spans of the matches in it, line number, number of lines)."""
    text = indexing.plain(text)
    lines = text.split("\n")
    found = looked_for.search(text)
    at = found.start() if found else 0
    number = text.count("\n", 0, at)
    line = lines[number] if number < len(lines) else ""
    begin = at - (sum(map(len, lines[:number])) + number)
    low = max(begin - PASSAGE // 3, 0) if len(line) > PASSAGE else 0
    cut = line[low : low + PASSAGE]
    shown = ("…" if low else "") + cut + ("…" if low + PASSAGE < len(line) else "")
    spans = tuple(match.span() for match in looked_for.finditer(shown) if match.end() > match.start())
    return shown, spans, number + 1, len(lines)
