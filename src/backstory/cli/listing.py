"""What every list of sessions shows of one: its mark, its failures, its title, its id."""

from __future__ import annotations

import re

from ..schema.session import Session
from ..schema.words import relative
from ..store.results import Brief, Listed
from ..story.tools import kind
from .line import Line, View, spans
from .rows import command_line, path_spans
from .text import cut
from .words import counted, duration

TITLE = "(no prompt)"
PROJECT_CELLS = 20
_STATUS = re.compile(r"\b([45]\d\d)\b")


def mark(view: View, listed: Listed) -> Line:
    """The state as one symbol; nothing for a session that ended well."""
    glyphs = view.glyphs
    if listed.state == "running":
        return spans((glyphs.dot, "live"))
    if listed.state == "error":
        return spans((glyphs.error, "failing"))
    if listed.session.totals.failing:
        return spans((glyphs.failing, "failing"))
    if listed.state == "interrupted":
        return spans((glyphs.interrupted, ""))
    return ()


def failures(listed: Listed) -> Line:
    """`2 failing`, else `2 failed`, else `2 rejected`, else nothing."""
    totals = listed.session.totals
    if totals.failing:
        return spans((f"{totals.failing:,} failing", "failing"))
    if totals.failed:
        return spans((f"{totals.failed:,} failed", "label"))
    if totals.rejected:
        return spans((f"{totals.rejected:,} rejected", "rejected"))
    return ()


def title(view: View, session: Session) -> str:
    """The session's title in one line."""
    return view.glyphs.one_line(session.title or "") or TITLE


def project(view: View, session: Session) -> str:
    """The folder's name; empty for a session without one."""
    name = view.glyphs.one_line(session.project or "")
    return cut(name, PROJECT_CELLS, view.glyphs) if view.cut else name


def error_words(view: View, listed: Listed) -> str:
    """A provider's error in a few words: `401 from anthropic`, else its first line."""
    text = view.glyphs.one_line((listed.error or "").split("\n", 1)[0])
    status = _STATUS.search(text)
    if status and listed.session.provider:
        return f"{status[1]} from {view.glyphs.one_line(listed.session.provider)}"
    return text or "stopped by an error"


def brief_line(view: View, brief: Brief, session: Session) -> Line:
    """The step at work: `run  npm test, for 14 s`, `read guides/authentication.md`."""
    subject: Line
    if brief.type in ("edit", "read"):
        word = brief.type
        subject = path_spans(view, relative(brief.subject, (session.workspace_root, session.cwd), view.home))
    elif brief.type == "other":
        # Of a tool, the role is its name; a kind word of its own says as much.
        name = brief.kind or ""
        word = kind(name)
        words = f"{name.replace('__', ' ', 1)} {brief.subject}" if word == "tool" else brief.subject
        subject = spans(command_line(view, words))
    else:
        roles = {"thinking": "think", "system": "note", "user": "you"}
        word = "run" if brief.type == "command" else roles.get(brief.kind or "", "say")
        written = command_line(view, brief.subject) if word == "run" else view.glyphs.one_line(brief.subject)
        subject = spans(written)
    if brief.outcome == "unknown" and brief.at is not None:
        subject = (*subject, (f", for {duration(view.now - brief.at)}", ""))
    return (*spans((f"{word} ".ljust(5), "label")), *subject)


def new_words(listed: Listed) -> str:
    """`9 new`: steps that the reader has not seen."""
    return f"{listed.unseen:,} new" if listed.unseen else ""


def figures(sessions: int, files: int, files_width: int = 0) -> str:
    """`9 sessions  26 files`, the files padded so that days stand in columns."""
    count = counted(sessions, "session")
    return f"{count}  {counted(files, 'file').rjust(files_width)}" if files else count
