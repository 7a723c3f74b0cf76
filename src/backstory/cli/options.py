"""What the verbs share: the options of every reading verb, and the archive brought up to date."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from . import dates
from .term import Term

if TYPE_CHECKING:
    from ..archive import Archive
    from ..capture.sync import SyncReport

    _Type = click.ParamType["Moment"]
else:
    _Type = click.ParamType  # generic since click 8.3

_lone = re.compile("[\ud800-\udfff]")
Face = TypeVar("Face", bound=Callable[..., Any])


class App:
    """One run of the program: its terminal and the archive that was named."""

    def __init__(
        self, term: Term, db: Path | None, *, sync: bool = True, sessions_dirs: tuple[Path, ...] = ()
    ) -> None:
        self.term = term
        self.db = db
        self.up_to_date = sync
        self.sessions_dirs = sessions_dirs

    @contextmanager
    def archive(self, options: Mapping[str, Any]) -> Iterator[Archive]:
        """The archive, after a pass over the agent's folders unless `--no-sync` was given."""
        from .. import Archive

        with Archive(self.db) as archive:
            if self.up_to_date and options.get("sync", True):
                self.sync(archive, options.get("sessions_dirs", ()))
            yield archive

    def sync(
        self,
        archive: Archive,
        sessions_dirs: tuple[Path, ...],
        *,
        noting: bool = True,
        also: Callable[[int, int], None] | None = None,
    ) -> SyncReport:
        """One pass, with a progress line when it takes longer than a second; returns its report.

        `also` is told how far it is, too.

        Folders that the verb does not name are those that were named before it, else the agent's own.
        """
        from .progress import Progress

        with Progress(self.term, "Reading Cline's sessions") as progress:

            def told(done: int, total: int) -> None:
                progress.update(done, total)
                if also is not None:
                    also(done, total)

            report = archive.sync(sessions_dirs=sessions_dirs or self.sessions_dirs, progress=told)
        left = len(report.failed) + len(report.skipped)
        if left and noting and self.term.interactive:
            self.term.note(f"{left:,} could not be read; backstory doctor names them.")
        return report

    def json(self, document: Any) -> None:
        """One document on standard output, and nothing else."""
        import json

        encoding = self.term.view.glyphs.encoding
        text = json.dumps(document, ensure_ascii=encoding is not None, indent=2)
        # No output takes half of a surrogate pair; JSON has a form for it.
        self.term.text(_lone.sub(lambda one: f"\\u{ord(one[0]):04x}", text) + "\n")


class Count(click.IntRange):
    """A whole number from 1 on; one that the archive cannot count to stands for all there is."""

    MOST = 2**31 - 1

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises `BadParameter` for what is none."""
        return min(int(super().convert(value, param, ctx)), self.MOST)


class Verb(click.Command):
    """A verb whose texts are whole: what is no UTF-8 on the command line can be neither kept nor looked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it; paths of files stay as the system has them."""
        left = super().parse_args(ctx, args)
        for param in self.params:
            if param.name in ctx.params and isinstance(param.type, click.types.StringParamType):
                ctx.params[param.name] = _whole(ctx.params[param.name])
        return left


def _whole(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_whole, value))
    if isinstance(value, str) and _lone.search(value):
        from ..memory.folders import whole

        return whole(value)
    return value


pass_app = click.make_pass_decorator(App)


class Moment(NamedTuple):
    """A date as it was said, and the moment in ms that it names."""

    said: str
    at: int


class _Date(_Type):
    name = "when"

    def __init__(self, *, end: bool) -> None:
        self.end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        if isinstance(value, Moment):
            return value
        try:
            return Moment(value, dates.parse(value, int(time.time() * 1000), end=self.end))
        except dates.NotADate:
            forms = "today, yesterday, 24nov, 7d or 2026-11-24"
            raise click.BadParameter(f'"{value}" is not a date. Write one as {forms}.', ctx, param) from None


def day_option(name: str, words: str, *, end: bool = False) -> Callable[[Face], Face]:
    """An option that takes a date."""
    return click.option(name, type=_Date(end=end), metavar="WHEN", help=words)


def json_option(face: Face) -> Face:
    """`--json`: one document on standard output."""
    return click.option("--json", "json_", is_flag=True, help="Print one JSON document.")(face)


def workspace_option(face: Face) -> Face:
    """`--workspace`: the memory that is meant."""
    return click.option(
        "--workspace", default="default", show_default=True, metavar="NAME", help="The memory that is meant."
    )(face)


def sessions_dir_option(face: Face) -> Face:
    """`--sessions-dir`, for every verb that looks at the agent's files."""
    option = click.option(
        "--sessions-dir",
        "sessions_dirs",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Read this sessions folder instead of Cline's own; may be repeated.",
    )
    return option(face)


def reading_options(face: Face) -> Face:
    """The options of every verb that brings the archive up to date first."""
    option = click.option(
        "--no-sync", "sync", is_flag=True, flag_value=False, default=True, help="Show the archive as it is."
    )
    return sessions_dir_option(option(face))
