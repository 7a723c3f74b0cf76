"""Text of a session on its way to a terminal: nothing acts, nothing is wider than it is thought to be."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.cli.line import View, beside, cut_line, flow, joined, paint, plain, spans, width
from backstory.cli.sgr import colourless, drawn
from backstory.cli.text import UNICODE, cells, cut, glyphs_for, hard_wrap, wrap

ASCII = glyphs_for("ascii")
VIEW = View(width=80)


@pytest.mark.parametrize(
    ("hostile", "seen"),
    [
        ("\x1b]0;owned\x07", "␛]0;owned␇"),
        ("\x1b[2Jgone", "␛[2Jgone"),
        ("a\x00b\x7f", "a␀b␡"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("abc\u202efdp.exe", "abc⟨U+202E⟩fdp.exe"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("zero\u200bwidth\ufeff", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
        ("line\u2028sep", "line⟨U+2028⟩sep"),
        ("half \ud83d", "half ⟨U+D83D⟩"),
        ("tag \U000e0041", "tag ⟨U+E0041⟩"),
        ("fine: é 文 🤔 –", "fine: é 文 🤔 –"),
    ],
)
def test_what_would_act_is_shown(hostile: str, seen: str) -> None:
    assert UNICODE.safe(hostile) == seen


@given(st.text())
def test_safe_text_holds_nothing_that_acts(text: str) -> None:
    safe = UNICODE.safe(text)
    assert not [c for c in safe if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert UNICODE.safe(safe) == safe
    plainly = ASCII.safe(text)
    assert plainly.isascii()
    assert plainly.isprintable() or not plainly


def test_symbols_fall_back_where_the_encoding_has_none() -> None:
    assert glyphs_for("UTF-8") is UNICODE
    assert "".join(glyphs_for("latin-1")[:9]) == "*!xo|-->...-"
    assert glyphs_for("latin-1").safe("● é → 文…") == "* é -> ?..."
    assert ASCII.safe("\x1b[31m\u202e") == "^[[31m<U+202E>"
    assert glyphs_for(None).encoding == "ascii"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("abc", 3),
        ("文件", 4),
        ("é", 1),
        ("e\u0301", 1),
        ("🤔", 2),
        ("👩\u200d👩", 4),
        ("⚠\ufe0f", 2),
        ("한", 2),
        ("…", 1),
    ],
)
def test_cells(text: str, count: int) -> None:
    assert cells(text) == count


@given(st.text(), st.integers(0, 40))
def test_cut_fits(text: str, room: int) -> None:
    safe = UNICODE.one_line(text)
    for glyphs in (UNICODE, ASCII):
        own = glyphs.one_line(text)
        assert cells(cut(own, room, glyphs)) <= room
        assert cells(cut(own, room, glyphs, at_word=True)) <= room
    assert cut(safe, cells(safe)) == safe


def test_cut_at_a_word() -> None:
    assert cut("the middleware does not", 17, at_word=True) == "the middleware…"
    assert cut("the middleware does not", 17) == "the middleware d…"
    assert cut("unbreakable", 6, at_word=True) == "unbre…"


@given(st.text(), st.integers(4, 40))
def test_wrapped_lines_fit_and_lose_nothing(text: str, room: int) -> None:
    safe = UNICODE.one_line(text)
    found = wrap(safe, room)
    assert all(cells(line) <= max(room, 2) for line in found)
    assert "".join("".join(found).split()) == "".join(safe.split())
    assert "".join(hard_wrap(safe, room)) == safe
    assert all(cells(line) <= room for line in hard_wrap(safe, room))


def test_wrap_keeps_an_indent_and_double_blanks() -> None:
    assert wrap("  - one two  three four", 12) == ["  - one two", "  three four"]
    assert wrap("a  b", 10) == ["a  b"]


@given(st.lists(st.tuples(st.text(), st.sampled_from(["", "label", "hit"])), max_size=4), st.integers(1, 60))
def test_lines_fit(parts: list[tuple[str, str]], room: int) -> None:
    line = tuple((UNICODE.one_line(text), role) for text, role in parts)
    assert width(cut_line(line, room, UNICODE)) <= room
    right = spans("exit 1")
    assert width(beside(VIEW, line, right)) <= VIEW.width
    assert plain(beside(VIEW, line, right)).endswith("exit 1")


def test_without_a_terminal_nothing_is_cut() -> None:
    view = VIEW._replace(cut=False)
    line = plain(beside(view, spans("x" * 100), spans("exit 1")))
    assert line == "x" * 100 + "  exit 1"


def test_groups_flow_into_lines_and_empty_ones_leave_no_gap() -> None:
    assert plain(joined([spans("a"), (), spans("b")])) == "a   b"
    lines = [
        plain(line) for line in flow(View(width=10), [spans("aaaa"), spans("bbbb"), spans("c")], indent=1)
    ]
    assert lines == [" aaaa", " bbbb   c"]


def test_styles_are_written_around_their_text_only() -> None:
    line = spans(("exit 1", "failing"), "  ", ("x", ""))
    assert paint(line, colour=True) == "\x1b[1;37;41mexit 1\x1b[0m  x"
    assert paint(line, colour=False) == "exit 1  x"


def test_colours_of_an_output_are_drawn_in_ours() -> None:
    output = "\x1b[32m✓\x1b[0m ok \x1b[1;31mFAIL\x1b[39m x\x1b[2J"
    assert drawn(VIEW, output) == (("✓", "live"), (" ok ", ""), ("FAIL", "failed"), (" x␛[2J", ""))
    assert colourless(output) == "✓ ok FAIL x\x1b[2J"


def test_a_pipe_has_the_words_of_an_output_and_every_other_escape() -> None:
    view = VIEW._replace(cut=False)
    assert drawn(view, "\x1b[31mred\x1b[0m\x1b]0;x\x07") == (("red␛]0;x␇", ""),)


@given(st.text(alphabet="\x1b[0123456789;m ab"))
def test_no_escape_of_a_session_is_left(output: str) -> None:
    for view in (VIEW, VIEW._replace(cut=False)):
        assert "\x1b" not in plain(drawn(view, output))
