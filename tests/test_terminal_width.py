"""No line is wider than its terminal, whatever a session contains; ids and marks are never cut."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from typing import Any

import pytest
import test_terminal_story as story
from msgspec.structs import replace

from backstory.cli.bare import Overview, draw_overview
from backstory.cli.doctor import draw_findings
from backstory.cli.forget import draw_removal
from backstory.cli.line import Line, View, plain, width
from backstory.cli.money import price
from backstory.cli.search import draw_found
from backstory.cli.sessions import draw_sessions
from backstory.cli.show import draw_session
from backstory.cli.text import UNICODE, glyphs_for
from backstory.cli.timeline import Choice
from backstory.ledger.budget import Standing
from backstory.schema.session import Actor
from backstory.schema.step import Attachment, Command, Edit, Message, Other, Range, Read
from backstory.store.forget import Forgettable
from backstory.store.results import Brief, Day, Found, Hit, Listed, SessionHits

WIDTHS = range(60, 121)
HOSTILE = [
    "\x1b]0;owned\x07\x1b[2J\x1b[31mred",
    "right\u202eto left\u202c and \u2066isolated\u2069",
    "a\ttab\tand\ttabs",
    "several\nlines\r\nof \rtext",
    "会话列表翻译成中文和希伯来文 עברית 👩\u200d👩\u200d👧 ⚠\ufe0f " * 4,
    "x" * 400,
    "\x00\x07\x08\x7f\x9b\u2028\ud83d\ufeff",
    "",
]


DEAR = story.cost(reported=123_456_789, estimated=98_765_432, covered=123_456_789, unpriced=1234)


def dear(listed: Listed) -> Listed:
    """A session whose cost takes as much room as any."""
    return replace(listed, cost=DEAR)


def budget(name: str) -> Standing:
    """A budget for a project that is passed."""
    return replace(story.PASSED, budget=replace(story.PASSED.budget, scope="project", name=name))


def view(columns: int, *, unicode: bool = True) -> View:
    glyphs = UNICODE if unicode else glyphs_for("latin-1")
    return View(width=columns, now=story.NOW, tz=UTC, home="/home/dev", glyphs=glyphs)


def all_drawings(view: View) -> Iterable[Line]:
    yield from draw_sessions(view, story.LIST, story.DAYS)
    yield from draw_sessions(view, story.LIST, story.DAYS, wide=True)
    days = {day: replace(figures, cost=DEAR) for day, figures in story.DAYS.items()}
    yield from draw_sessions(view, [dear(listed) for listed in story.LIST], days)
    home, day, passed = "/home/dev/.backstory", Day(9, 26), [story.PASSED, budget("api-gateway")]
    for running in (story.LIST[:2], [dear(listed) for listed in story.LIST[:2]]):
        yield from draw_overview(
            view, Overview(1284, home, running, story.LIST[3:8], day, True, DEAR, passed)
        )
    yield from draw_found(view, story.found())
    yield from draw_findings(view, story.FINDINGS)
    record, own, fates = story.shown()
    for choice in (Choice(), Choice(full=True), Choice(problems=True)):
        yield from draw_session(view, record, own, fates, choice)
    what = Forgettable(own.session.id, "x", 30, 22, None, ("a",))
    yield from draw_removal(view, what, own, story.LIST[:3], with_copies=True)


@pytest.mark.parametrize("columns", WIDTHS)
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    for unicode in (True, False):
        assert not [
            plain(line) for line in all_drawings(view(columns, unicode=unicode)) if width(line) > columns
        ]


@pytest.mark.parametrize("columns", WIDTHS)
def test_ids_and_marks_are_never_cut(columns: int) -> None:
    rows = [plain(line) for line in draw_sessions(view(columns), story.LIST, story.DAYS)]
    for listed in story.LIST:
        assert sum(listed.short_id in row[:9] for row in rows) == 1
    assert sum(row[:1] in "●▲✕◌" for row in rows if row) == 8 - 1


@pytest.mark.parametrize("columns", WIDTHS)
def test_money_is_never_cut(columns: int) -> None:
    own = view(columns)
    rows = [plain(line) for line in draw_sessions(own, story.LIST, story.DAYS)]
    listed = [row for row in rows if row[3:8] in {one.short_id for one in story.LIST}]
    assert [row.split("  ")[-1].strip() for row in listed] == [plain(price(one.cost)) for one in story.LIST]
    drawn = "\n".join(plain(line) for line in all_drawings(own))
    for words in (
        "$4.61 reported  ~$0.48 estimated\n",
        "$0.21 reported  2 covered\n",
        "$1,234,567.89 +~$987,654.32 +?\n",
        "$1,234,567.89 reported",
        "$1,234,567.89 covered",
        "1,234 calls without a price",
        "budget of the day passed: $5.09 of $5\n",
        " passed: $5.09 of $5\n",
        "8 steps  $0.06   38 s\n",
        "  12 Nov  $0.77\n",
        "  $0.53  31 min\n",
    ):
        assert words in drawn, words


def test_columns_leave_in_their_order() -> None:
    heads = {
        columns: next(
            iter(plain(line) for line in draw_sessions(view(columns), story.LIST, story.DAYS))
        ).split()
        for columns in WIDTHS
    }
    order = ["STEPS", "LAST", "PROJECT"]
    for head in heads.values():
        gone = [name not in head for name in order]
        assert gone == sorted(gone, reverse=True)
        assert {"ID", "TITLE", "FAILURES"} <= set(head)
        assert head[-1] == "COST"
    assert not set(order) & set(heads[60])
    assert set(order) <= set(heads[100])


def hostile_listed(text: str, **more: Any) -> Listed:
    listed = story.listed("k3v9q", "12:36", text, text, failing=1, failed=1, state="running", **more)
    session = replace(listed.session, model=text, branch=text, surface=text, provider=text)
    return replace(
        listed, session=session, error=text, last_step=Brief("x", "command", None, text, "unknown", 0)
    )


def hostile_story(text: str) -> story.Story:
    told = story.Story()
    told.turn(
        "12:04", text, text, text, attachments=(Attachment("file", text, 3), Attachment(text or "x", text))
    )
    error = ("tool", text)
    for failed in (None, error):
        told.add(Message("thinking", text))
        told.add(Message("assistant", text))
        told.add(Message("system", text), flags=("error",) if failed else ("hook_context",))
        told.add(Command(text, stdout=f"{text}\n" * 30, exit_code=3 if failed else 0), error=failed)
        told.add(Read(text, Range(1, 2), text), error=failed)
        told.add(Edit(text, "replace", text, text + "\n" + text, diff=f"-3: {text}", added=1), error=failed)
        told.add(Edit(text, "move", hunks=f"@@\n-{text}\n+{text}", move_to=text), error=failed)
        for name in (
            "search_codebase",
            "fetch_web_content",
            "ask_question",
            "server__tool",
            "block:media",
            "skills",
        ):
            told.add(
                Other(name, {"input": {"url": text, "question": text, text: text}, "result": text}),
                error=failed,
            )
            told.add(Other(name, {"input": text, "result": {"content": [{"text": text}]}}), error=failed)
            told.add(Other(name, text), error=failed)
    told.actors.append(Actor("child", "teammate", text, "c.messages.json", text, None, None))
    told.actor = "child"
    told.add(Message("user", text))
    told.add(Command(text), outcome="unknown")
    return told


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("columns", [60, 83, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_hostile_text_neither_acts_nor_breaks_a_line(text: str, columns: int, unicode: bool) -> None:
    own = view(columns, unicode=unicode)
    told = hostile_story(text)
    listed = hostile_listed(text)
    record = told.record(listed.session)
    drawn: list[Line] = []
    for choice in (Choice(), Choice(full=True), Choice(problems=True)):
        drawn += draw_session(own, record, listed, {}, choice)
    drawn += draw_sessions(own, [listed], story.DAYS, wide=True)
    looks = [replace(listed, state="error")]
    drawn += draw_overview(own, Overview(1, "/x", [listed], looks, Day(1, 1), True, DEAR, [budget(text)]))
    hits = tuple(
        Hit(step, 1, part, text, ((0, len(text)),) if text else (), 1, 1)  # type: ignore[arg-type]
        for step in told.steps
        for part in ("in", "out")
    )
    drawn += draw_found(own, Found(text, 3, 1, (SessionHits(listed, hits, 2),), 9))
    for line in drawn:
        written = plain(line)
        assert own.glyphs.safe(written) == written
        assert width(line) <= columns, written
        if not unicode:
            written.encode("latin-1")


def test_a_long_id_stands_whole() -> None:
    listed = replace(story.LIST[0], short_id=story.LIST[0].session.id)
    rows = [plain(line) for line in draw_sessions(view(60), [listed], story.DAYS)]
    assert rows[3].startswith("●  1796040242318_k3v9q  ")
    assert width([(rows[3], "")]) <= 60


def test_without_a_terminal_nothing_is_cut() -> None:
    record, own, fates = story.shown()
    pipe = view(100)._replace(cut=False)
    drawn = "\n".join(plain(line) for line in draw_session(pipe, record, own, fates))
    assert "and the middleware does not catch it." in drawn
    rows = [plain(line) for line in draw_sessions(pipe, story.LIST, story.DAYS)]
    assert any("Let them through and log it once.     30  2 failing      $0.53" in row for row in rows)
