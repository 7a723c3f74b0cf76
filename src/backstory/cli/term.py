"""The terminal of one run: its streams, width, colours, symbols and pager."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Literal

from .line import Line, View, paint
from .text import cut, glyphs_for

if TYPE_CHECKING:
    import subprocess

Colour = Literal["auto", "always", "never"]

NARROWEST, WIDEST, UNKNOWN = 60, 120, 100


class Term:
    """Where a verb writes: data to standard output, progress, notes and hints to standard error."""

    def __init__(
        self,
        *,
        inp: IO[str] | None = None,
        out: IO[str] | None = None,
        err: IO[str] | None = None,
        env: Mapping[str, str] | None = None,
        colour: Colour = "auto",
        quiet: bool = False,
        now: int | None = None,
    ) -> None:
        self.out = sys.stdout if out is None else out
        self.err = sys.stderr if err is None else err
        self.env = os.environ if env is None else env
        self.quiet = quiet
        self.can_ask = _is_terminal(sys.stdin if inp is None else inp) and _is_terminal(self.err)
        self.interactive = _is_terminal(self.out)
        self.progress = _is_terminal(self.err) and not quiet and self.env.get("TERM") != "dumb"
        self.colour = wants_colour(self.env, colour, self.interactive)
        self.err_colour = wants_colour(self.env, colour, _is_terminal(self.err))
        self.view = View(
            width=_width(self.out, self.env) if self.interactive else UNKNOWN,
            cut=self.interactive,
            now=int(time.time() * 1000) if now is None else now,
            glyphs=glyphs_for(getattr(self.out, "encoding", None)),
            home=self.env.get("HOME") or self.env.get("USERPROFILE") or "",
        )

    def write(self, lines: Iterable[Line]) -> None:
        """Data, line by line as it is drawn."""
        for line in lines:
            self.out.write(self._ink(line))
        self.out.flush()

    def text(self, text: str) -> None:
        """Data that is written as it is: a JSON document, a patch."""
        self.out.write(text)
        self.out.flush()

    def note(self, text: str) -> None:
        """One line about the run itself, on standard error."""
        if not self.quiet:
            # Both may be one terminal or one file, where a note must not land inside a line of data.
            self.out.flush()
            print(glyphs_for(getattr(self.err, "encoding", None)).safe(text), file=self.err, flush=True)

    def hint(self, *lines: str) -> None:
        """The next thing to type: after everything else, and only for a person at a terminal."""
        if not self.interactive or self.quiet:
            return
        self.out.flush()
        self.err.write("\n")
        for line in lines:
            fitting = cut(line, self.view.width, self.view.glyphs)
            self.err.write(paint(((fitting, "label"),), colour=self.err_colour) + "\n")
        self.err.flush()

    def page(self, lines: Iterable[Line], hint: str | None = None) -> None:
        """Data through `$PAGER` on a terminal, as git does it; elsewhere as it is."""
        command = self._pager()
        if command is None:
            self.write(lines)
            if hint:
                self.hint(hint)
            return
        env = {**self.env, "LESSCHARSET": "utf-8"} if self.view.glyphs.encoding is None else dict(self.env)
        env.setdefault("LESS", "FRX")
        self.out.flush()
        import subprocess  # costs more than all the rest, and most runs need no pager

        process = subprocess.Popen(
            command,
            shell=True,
            stdin=subprocess.PIPE,
            env=env,
            text=True,
            encoding=self.view.glyphs.encoding or "utf-8",
            errors="replace",
        )
        assert process.stdin is not None
        try:
            for line in lines:
                process.stdin.write(self._ink(line))
            if hint and not self.quiet:
                process.stdin.write("\n" + paint(((hint, "label"),), colour=self.colour) + "\n")
            process.stdin.close()
        except BrokenPipeError:
            pass  # the reader has left the pager before the end
        finally:
            _wait(process)

    def _ink(self, line: Line) -> str:
        """A line as it leaves; drawings make their text safe, and this holds where one forgot."""
        safe = tuple((self.view.glyphs.safe(text), role) for text, role in line)
        return paint(safe, colour=self.colour) + "\n"

    def _pager(self) -> str | None:
        """The pager's command line; null where output goes out directly."""
        if not self.interactive or self.env.get("TERM") == "dumb":
            return None
        command = self.env.get("PAGER", "less -FRX").strip()
        if not command or command == "cat":
            return None
        if "PAGER" not in self.env:
            from shutil import which

            if which("less", path=self.env.get("PATH")) is None:
                return None
        return command


def wants_colour(env: Mapping[str, str], asked: Colour, interactive: bool) -> bool:
    """`--color` decides, then NO_COLOR, FORCE_COLOR, TERM=dumb, and whether a person is looking."""
    if asked != "auto":
        return asked == "always"
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0", "false"):
        return True
    return interactive and env.get("TERM") != "dumb"


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # a closed stream
        return False


def _width(stream: IO[str], env: Mapping[str, str]) -> int:
    """The terminal's columns within what is drawn well; COLUMNS goes before the terminal's own word."""
    columns = 0
    if env.get("COLUMNS", "").isdecimal():
        columns = int(env["COLUMNS"])
    if columns <= 0:
        try:
            columns = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    return max(NARROWEST, min(columns or UNKNOWN, WIDEST))


def _wait(process: subprocess.Popen[str]) -> None:
    """Wait for the pager to end; an interrupt is the pager's to handle, as in git."""
    while True:
        try:
            process.wait()
            return
        except KeyboardInterrupt:
            continue
