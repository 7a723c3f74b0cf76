"""t5d2k: forty date helpers, one after the other. A long session with a compaction and four subagents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ..models import OPUS
from ..moments import Moments
from ..project import Project
from ..session import Session
from ..texts import sections

_HEAD = "const HOUR = 3_600_000;\nconst DAY = 24 * HOUR;\n"
_IMPORT = 'import { Temporal, ZONE, day, order, toDate, zoned } from "./temporal";\n'
_FIRST = ("parse", "format", "compare")
_CALLERS = {
    "src/sessions/when.ts": ("shortDate", "isSameDay", "clockIn", "daysBetween"),
    "src/usage/days.ts": ("eachDay", "startOfDay", "isoDate", "lastDays"),
    "src/usage/months.ts": ("eachMonth", "startOfMonth", "endOfMonth", "longDate"),
    "src/filters/since.ts": ("parseDate", "addDays", "isBefore", "startOfWeek"),
}


@dataclass(frozen=True)
class Stumble:
    """A first try that failed: its body, what the test said, and what that meant."""

    body: str
    said: str
    meant: str


@dataclass(frozen=True)
class Helper:
    """One function: how it was, and how it is with Temporal."""

    file: str
    name: str
    arguments: str
    returns: str
    old: str
    new: str

    def text(self, body: str) -> str:
        return f"export function {self.name}({self.arguments}): {self.returns} {{\n  return {body};\n}}\n"


_STUMBLES = {
    "parseTime": Stumble(
        "Temporal.PlainTime.from(text).hour + Temporal.PlainTime.from(text).minute / 60",
        "expected 9.5 to be 570",
        "It counts hours here; the old one counts minutes, and callers rely on that.",
    ),
    "isoDate": Stumble(
        "zoned(date).toPlainDate().toString()",
        "expected '2026-03-29' to be '2026-03-28'",
        "The old one cuts the UTC text. Whoever stores it wants UTC.",
    ),
    "startOfWeek": Stumble(
        "toDate(zoned(date).subtract({ days: zoned(date).dayOfWeek }).startOfDay())",
        "expected 'Sunday' to be 'Monday'",
        "dayOfWeek is 1 for Monday. I was one off.",
    ),
}
_THOUGHTS = (
    "{name} keeps nothing. Only the zone matters.",
    "The test of {name} covers both changes of the clock.",
    "{name} is called with dates of other zones, too; the offset has to come from the date.",
    "Nothing in {name} rounds, so the numbers must be equal and not only close.",
    "{name} never met a date before 1970. Temporal does not mind.",
)


def tell(moments: Moments) -> Iterator[Session]:
    story = Session(
        moments, "t5d2k", "-3d 17:08:02", project=_project(), model=OPUS, branch="temporal", base=13_600
    )
    _survey(story)
    story.at("-3d 17:19:30").prompt("port the parsing helpers first, then run everything")
    story.create("src/dates/temporal.ts", _TEMPORAL)
    first = [helper for helper in helpers() if _stem(helper) in _FIRST]
    _port(story, first)
    story.run("npm test", _passed("test/dates", 412), took=21)
    story.say("Parsing, formatting and comparing are on Temporal, and all 412 tests pass.")
    story.compacted(
        _SUMMARY, keep=8, read=[helper.file for helper in first[::4]], modified=["src/dates/temporal.ts"]
    )
    story.at("-3d 17:44:10").prompt("now the rest")
    _port(story, [helper for helper in helpers() if _stem(helper) not in _FIRST])
    story.run("npm test", _passed("test/dates", 412), took=21)
    story.say("All forty are ported. The old signatures stand as they were.")
    _audit(story)
    yield story.end("completed", "-3d 18:20:21")


@cache
def helpers() -> tuple[Helper, ...]:
    return tuple(
        Helper(file, *(part.strip() for part in line.split(" | ")))
        for file, table in sections("projects", "date-helpers").items()
        for line in table.splitlines()
    )


def _project() -> Project:
    project = Project("web-console")
    for helper in helpers():
        project.files[helper.file] = project.files.get(helper.file, _HEAD) + "\n" + helper.text(helper.old)
    exports = [f'export * from "./{_stem(helper)}";' for helper in helpers()[::4]]
    project.files["src/dates/legacy.ts"] = "\n".join(["// Everything that the old module had.", *exports, ""])
    for path, names in _CALLERS.items():
        uses = [
            f"export const {name}Of = (...args: Parameters<typeof {name}>) => {name}(...args);"
            for name in names
        ]
        project.files[path] = (
            f'import {{ {", ".join(names)} }} from "../dates/legacy";\n\n' + "\n".join(uses) + "\n"
        )
    return project


def _survey(story: Session) -> None:
    story.at("-3d 17:08:20").prompt("Port the date helpers to Temporal, keep the old signatures", "plan")
    story.think(
        "Forty helpers in ten files, all with Date in and out. A small module can turn one into the other."
    )
    story.read("src/dates/legacy.ts", *dict.fromkeys(helper.file for helper in helpers()))
    story.find("getTimezoneOffset", "dates/legacy")
    story.run("npm test -- dates", _passed("test/dates", 160), took=6.2)
    story.at("-3d 17:11:40").say(
        "Callers keep `Date`. Inside, each helper goes through `src/dates/temporal.ts`, which knows the zone. I port "
        "one helper, run its tests, and go on. Order:\n\n1. parse, format, compare\n2. add, start, end, between\n"
        "3. range, week, zone"
    )


def _port(story: Session, chosen: Sequence[Helper]) -> None:
    for place, helper in enumerate(chosen):
        line = story.project.files[helper.file].split("\n").index(helper.text("").split("\n")[0]) + 1
        with story.together():
            if place % 4 == 0:
                story.say(f"Now `{helper.file}`.")
            elif place % 4 == 2:
                story.think(_THOUGHTS[place // 4 % len(_THOUGHTS)].format(name=helper.name))
            story.find(rf"\b{helper.name}\(")
            story.read(f"{helper.file}:{line}-{line + 2}")
        stumble = _STUMBLES.get(helper.name)
        with story.together():
            if place % 4 == 0:
                story.edit(helper.file, _HEAD, _IMPORT)
            story.edit(
                helper.file, helper.text(helper.old), helper.text(stumble.body if stumble else helper.new)
            )
            _test(story, helper, stumble)
        if stumble:
            with story.together():
                story.think(stumble.meant).edit(
                    helper.file, helper.text(stumble.body), helper.text(helper.new)
                )
                _test(story, helper)


def _test(story: Session, helper: Helper, stumble: Stumble | None = None) -> None:
    command = f"npm test -- dates/{_stem(helper)} -t {helper.name}"
    if stumble:
        story.run(command, _failed(helper, stumble.said), 1, took=2.1)
    else:
        story.run(command, _passed(helper.file, 4), took=1.9)


def _audit(story: Session) -> None:
    story.at("-3d 18:08:15").prompt("let four subagents check the callers, one file each")
    with story.together():
        story.say("Four subagents, one a file.")
        for path, names in _CALLERS.items():
            system = "You check callers of ported helpers. You do not edit."
            with story.agent(f"check that {path} still gets what it expects", system, base=2600) as child:
                child.read(path)
                for name in names:
                    helper = next(helper for helper in helpers() if helper.name == name)
                    child.find(rf"\b{name}\b")
                    child.read(helper.file)
                child.say(
                    f"`{path}` is fine: {', '.join(f'`{name}`' for name in names)} return what they did."
                )
    story.run("npm run lint", "\n> web-console@3.14.0 lint\n> eslint .\n", took=6.4)
    story.run(
        "git diff --stat | tail -1", " 12 files changed, 171 insertions(+), 60 deletions(-)\n", took=0.1
    )
    story.at("-3d 18:19:40").say(
        "The four callers get what they did before. 40 helpers in 10 files are ported; `src/dates/temporal.ts` is the "
        "only place that knows the zone."
    )


def _stem(helper: Helper) -> str:
    return helper.file.removeprefix("src/dates/").removesuffix(".ts")


def _passed(what: str, count: int) -> str:
    return f"\n ✓ {what} ({count} tests)\n\n Test Files  passed\n      Tests  {count} passed ({count})\n"


def _failed(helper: Helper, why: str) -> str:
    test = f"test/dates/{_stem(helper)}.test.ts"
    return (
        f"\n ❯ {test} (4 tests | 1 failed)\n\n FAIL  {test} > {helper.name}\nAssertionError: {why}\n"
        "\n Test Files  1 failed (1)\n      Tests  1 failed | 3 passed (4)\n"
    )


_TEMPORAL = """import { Temporal } from "temporal-polyfill";

export { Temporal };
export const ZONE = Temporal.Now.timeZoneId();

export function zoned(date: Date): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(date.getTime()).toZonedDateTimeISO(ZONE);
}

export function toDate(moment: Temporal.ZonedDateTime | Temporal.Instant): Date {
  return new Date(moment.epochMilliseconds);
}

export function day(date: Date): Temporal.PlainDate {
  return zoned(date).toPlainDate();
}

export function order(one: Date, other: Date): number {
  return Temporal.Instant.compare(zoned(one).toInstant(), zoned(other).toInstant());
}
"""

_SUMMARY = """The person wants the forty date helpers in src/dates on Temporal, with the old signatures.

Done: parse, format and compare, through the new src/dates/temporal.ts. All 412 tests pass.
Left: add, start, end, between, range, week, zone.
Found on the way: parseTime counts minutes; isoDate cuts the UTC text and must go on doing so.

## Files
Read:
- src/dates/legacy.ts
Modified:
- src/dates/temporal.ts
- src/dates/parse.ts
- src/dates/format.ts
- src/dates/compare.ts"""
