"""The documents say what the program does: their examples run, their tables name what is there, their links lead somewhere.

Examples run in a home whose `~/.cline/data/sessions` holds the recordings, one home a document, in their order:

- ```python and ```sql blocks are executed; a ```text block right after one is its output.
- In a ```console block each line that begins with `$ backstory` is run and must leave with 0, or with N where the
  line ends in `# exit code N`. What stands below it is its output; without any, none is compared.
- In expected output a line `…` stands for any lines, and `…` inside a line for any text.
- `<!-- home: demo -->` in a document gives it the sample sessions in place of the recordings.
- `<!-- example: SCENARIO[/SESSION] PLACE -->` before a ```json block: it is what the record has at that place; fields may be left out.
- `<!-- fields: NAME -->`, `<!-- values: NAME -->` and `<!-- view: NAME -->` before a table: its first column names exactly these.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
import recordings

from backstory import Archive, demo, read_session
from backstory.cli.main import VERBS, cli
from backstory.schema import session, step
from backstory.schema.record import record_json
from backstory.sources.cline.times import epoch_ms
from backstory.store import results

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FORMAT = ROOT / "src/backstory/sources/cline/FORMAT.md"
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *DOCS.glob("*.md"),
        *ROOT.glob("bench/*.md"),
        *ROOT.glob("tests/**/README.md"),
        FORMAT,
    ]
)
EARLIER = ("fork", "killed-mid-run", "plan-switch-to-act-tool", "tui-idle-between-turns")
"""Recordings of sessions that another recording holds at a later moment."""


class Block(NamedTuple):
    """A fenced block: its language, text and line, the comment before it, and the output that follows it."""

    language: str
    text: str
    line: int
    mark: str
    output: str | None


@cache
def blocks(path: Path) -> tuple[Block, ...]:
    """The fenced blocks of a document."""
    found: list[Block] = []
    mark, begin, language, lines = "", 0, "", list[str]()
    fresh = False  # nothing but blanks since the last block
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if begin and line.startswith("```"):
            text = "\n".join(lines)
            if language == "text" and fresh:
                found[-1] = found[-1]._replace(output=text)
            found.append(Block(language, text, begin + 1, mark, None))
            mark, begin, fresh, lines = "", 0, True, []
        elif begin:
            lines.append(line)
        elif line.startswith("```"):
            begin, language = number, line.strip("`").strip()
        elif comment := re.fullmatch(r"<!-- (.*) -->", line):
            mark = comment[1]
        elif line.strip():
            mark, fresh = "", False
    return tuple(found)


def each(*languages: str, within: list[Path] = DOCUMENTS) -> list[Any]:
    """The documents that hold such blocks, as parameters of a test."""
    return [
        pytest.param(path, id=str(path.relative_to(ROOT)))
        for path in within
        if any(block.language in languages for block in blocks(path))
    ]


def tables(path: Path, kind: str) -> dict[str, list[str]]:
    """The names in the first columns of the tables that are marked so, by the mark's own name."""
    found = {}
    text = path.read_text("utf-8")
    for name, table in re.findall(rf"<!-- {kind}: (.+?) -->\n\n((?:\|.*\n)+)", text):
        cells = [row.split("|")[1] for row in table.splitlines()[2:]]
        found[name] = [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]
    return found


def make_home(path: Path) -> Path:
    """A home in which Cline has kept the recordings."""
    sessions = path / ".cline/data/sessions"
    for scenario in recordings.scenarios():
        if scenario not in EARLIER:
            for name in recordings.sessions(scenario):
                shutil.copytree(recordings.session_path(scenario, name), sessions / name)
    for file in sessions.rglob("*.messages.json"):
        written = epoch_ms(json.loads(file.read_text("utf-8"))["updated_at"])
        for own in file.parent.iterdir():
            os.utime(own, (written / 1000, written / 1000))
    return path


def environment(home: Path) -> dict[str, str]:
    """What a program sees that runs in that home."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "PYTHONPATH") if name in os.environ}
    place = {"HOME": str(home), "USERPROFILE": str(home)}
    return {**kept, **place, "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of one document, and the working directory of its examples."""
    made = make_home(tmp_path / "home")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(made))
    monkeypatch.chdir(tmp_path)
    return made


def assert_output(shown: str, printed: str, where: str) -> None:
    """Compare what a document shows with what was printed."""
    lines = [line.rstrip() for line in shown.splitlines()]
    patterns = [r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in lines]
    found = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    if not re.fullmatch("".join(patterns), found):
        pytest.fail(f"{where}\nshown:\n{shown}\nprinted:\n{found}", pytrace=False)


@pytest.mark.parametrize("path", each("python"))
def test_python_runs(path: Path, home: Path) -> None:
    names: dict[str, Any] = {}
    for block in blocks(path):
        if block.language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block.text, f"{path}:{block.line}", "exec"), names)
            if block.output is not None:
                assert_output(block.output, out.getvalue(), f"{path.name}:{block.line}")


@pytest.mark.parametrize("path", each("sql"))
def test_sql_runs(path: Path, home: Path) -> None:
    with Archive() as archive:
        archive.sync()
        for block in blocks(path):
            if block.language != "sql":
                continue
            cursor = archive.connection.execute(block.text)
            rows = [["" if cell is None else str(cell) for cell in row] for row in cursor]
            if block.output is not None:
                rows.insert(0, [column[0] for column in cursor.description])
                widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
                lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
                assert_output(block.output, "\n".join(lines), f"{path.name}:{block.line}")


@pytest.mark.parametrize("path", each("console"))
def test_console_runs(path: Path, home: Path) -> None:
    if "<!-- home: demo -->" in path.read_text("utf-8"):
        shutil.rmtree(home / ".cline")
        demo.load(home / ".cline/data/sessions", int(time.time() * 1000))
        demo.settings(home / ".cline/data")
    for block in blocks(path):
        if block.language != "console":
            continue
        for call, shown in calls(block.text):
            words = shlex.split(call, comments=True)
            if words[0] != "backstory":
                continue
            code = re.search(r"# exit code (\d+)$", call)
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "backstory",
                    *(word.replace("~", str(home), 1) if word[:1] == "~" else word for word in words[1:]),
                ],
                env=environment(home),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                timeout=60,
            )
            where = f"{path.name}:{block.line}: {call}"
            assert done.returncode == (int(code[1]) if code else 0), f"{where}\n{done.stdout}"
            if shown:
                assert_output(shown, done.stdout, where)


def calls(text: str) -> Iterator[tuple[str, str]]:
    """The prompt lines of a console block, each with what is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        call, _, shown = part.partition("\n")
        yield call, shown.strip("\n")


@pytest.mark.parametrize("path", each("console", "sh", ""))
def test_options_exist(path: Path) -> None:
    """Also in examples that are not run."""
    for block in blocks(path):
        if block.language not in ("console", "sh", ""):
            continue
        for call in re.findall(r"^(?:\$ )?(backstory(?: [^|>&#\n]*)?)", block.text, re.MULTILINE):
            words = shlex.split(call)[1:]
            verb = next((word for word in words if word in VERBS), None)
            command = (
                cli.get_command(cli.make_context("backstory", ["up"], resilient_parsing=True), verb)
                if verb
                else None
            )
            known = {
                name for own in filter(None, (cli, command)) for param in own.params for name in param.opts
            }
            wrong = {word for word in words if word.startswith("--")} - known - {"--help"}
            assert not wrong, f"{path.name}:{block.line}: {call}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        assert place.exists(), f"{path.name}: {target}"
        if anchor:
            assert anchor in anchors(place), f"{path.name}: {target}"


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, id=block.mark) for block in blocks(DOCS / "schema.md") if block.language == "json"],
)
def test_example_is_real(block: Block) -> None:
    kind, where, place = block.mark.split(" ", 2)
    assert kind == "example:"
    scenario, _, name = where.partition("/")
    folder = recordings.session_path(scenario, name or recordings.sessions(scenario)[0])
    found: Any = record_json(read_session(folder, env={}))
    group, _, key = place.partition("/")
    if key:
        found = next(
            item
            for item in found[group]
            if (item.get("id") or item.get("key")) == key.removesuffix(".payload")
        )
        found = found["payload"] if key.endswith(".payload") else found
    else:
        for part in group.split("."):
            found = found[part]
    assert_shown(json.loads(block.text), found, block.mark)


def assert_shown(shown: Any, real: Any, where: str) -> None:
    """What is shown is what is there; an object may leave fields out."""
    if isinstance(shown, dict):
        for key, value in shown.items():
            assert key in real, f"{where}/{key}"
            assert_shown(value, real[key], f"{where}/{key}")
    elif isinstance(shown, list):
        assert len(shown) == len(real), where
        for number, (one, other) in enumerate(zip(shown, real, strict=True)):
            assert_shown(one, other, f"{where}/{number}")
    else:
        assert shown == real, where


def fields(kind: Any) -> set[str]:
    return set(kind.__struct_fields__)


STRUCTS: dict[str, Any] = {
    "agent": session.Agent,
    "copied_from": session.CopiedFrom,
    "imported": session.Imported,
    "checkpoint": session.Checkpoint,
    "compaction": session.Compaction,
    "fidelity": session.Fidelity,
    "totals": session.Totals,
    "error": step.StepError,
    "attachment": step.Attachment,
    **step.PAYLOADS,
}


def shapes(home: Path) -> Mapping[str, set[str]]:
    """The fields of every document that `--json` prints, by the name of their table."""

    def run(*words: str) -> Any:
        command = [sys.executable, "-m", "backstory", *words, "--json"]
        return json.loads(
            subprocess.run(command, env=environment(home), stdout=subprocess.PIPE, check=True).stdout
        )

    report = run("capture", "--once")
    record = run("show", "2js90")
    listed = run("sessions", "--limit", "1")["sessions"][0]
    found = run("search", "does not exist")
    doctor = run("doctor")
    hits = [hit for group in found["sessions"] for hit in group["hits"]]
    own = {name: set(record[f"{name}s"][0]) for name in ("segment", "actor", "turn", "step", "call")}
    return {
        **{name: fields(kind) for name, kind in STRUCTS.items()},
        **own,
        "record": set(record),
        "session": set(record["session"]),
        "tokens": set(record["calls"][0]["tokens"]),
        "listed": set(listed) - set(record["session"]),
        "last_step": set(listed["last_step"]),
        "found": set(found),
        "hit": set(hits[0]),
        "fate": set(next(hit["fate"] for hit in hits if hit["fate"])),
        "findings": set(doctor),
        "finding": set(doctor["findings"][0]),
        "report": set(report),
    }


def test_schema_names_every_field(home: Path) -> None:
    documented = tables(DOCS / "schema.md", "fields")
    found = shapes(home)
    assert set(documented) == set(found)
    for name, words in documented.items():
        assert sorted(words) == sorted(found[name]), name


def flags_of(folder: Path, *modules: str) -> set[str]:
    """Words that stand as texts of their own in these modules: where flags are written."""
    trees = [ast.parse((folder / module).read_text("utf-8")) for module in modules]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_schema_names_every_value() -> None:
    documented = tables(DOCS / "schema.md", "values")
    vocabulary = {
        "decision": step.Decision,
        "decision_source": step.DecisionSource,
        "content_status": step.ContentStatus,
        "error kinds": step.ErrorKind,
        "state": results.State,
    }
    for name, literal in vocabulary.items():
        assert set(documented[name]) == set(get_args(literal)), name
    inferred = session.Segment.__annotations__["inferred_from"]
    assert documented["inferred_from"] == re.findall(r'"(\w+)"', inferred)
    flags = set(documented["flags"])
    cline = ROOT / "src/backstory/sources/cline"
    written = flags_of(cline, "steps.py", "toolsteps.py", "prompt.py") | flags_of(
        ROOT / "src/backstory/schema", "record.py"
    )
    assert flags <= written
    for scenario in recordings.scenarios():
        for name in recordings.sessions(scenario):
            for one in read_session(recordings.session_path(scenario, name), env={}).steps:
                assert set(one.flags) <= flags, one.id


def test_archive_names_every_column(home: Path) -> None:
    documented = tables(DOCS / "archive.md", "view")
    with Archive() as archive:
        views = [
            name
            for (name,) in archive.connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")
        ]
        assert sorted(documented) == sorted(views)
        for view in views:
            columns = [row[1] for row in archive.connection.execute(f"PRAGMA table_info({view})")]
            assert sorted(documented[view]) == sorted(columns), view


def test_api_names_every_method() -> None:
    shown = dict(re.findall(r"`(\w+)\(([\w, ]*)\)`", (DOCS / "api.md").read_text("utf-8")))
    public: dict[str, Callable[..., Any]] = {
        name: value
        for name, value in vars(Archive).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    assert set(public) | {"Archive"} <= set(shown)
    for name, method in {**public, "Archive": Archive}.items():
        wanted = [param for param in inspect.signature(method).parameters if param != "self"]
        assert [word for word in shown[name].split(", ") if word] == wanted, name


def test_cli_options_are_current() -> None:
    spec = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    assert spec is not None and spec.loader is not None
    generate_cli = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate_cli)
    text = generate_cli.DOCUMENT.read_text("utf-8")
    assert generate_cli.verbs_in(text) == ["backstory", *VERBS]
    assert generate_cli.render(text) == text, "run: python docs/generate_cli.py"


def test_format_names_what_is_there() -> None:
    """Recordings, functions and sections that `FORMAT.md` and the comments of the reader name."""
    text = FORMAT.read_text("utf-8")
    spans = set(re.findall(r"`([^`]+)`", text))
    folders = {path.name for path in recordings.RECORDINGS.iterdir()}
    kebab = {span for span in spans if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", span)}
    assert kebab <= folders
    modules = {path.stem for path in FORMAT.parent.glob("*.py")}
    for span in spans:
        name, dot, rest = span.partition(".")
        if dot and name in modules and re.fullmatch(r"[A-Za-z_.]+", rest):
            found: Any = importlib.import_module(f"backstory.sources.cline.{name}")
            for part in rest.split("."):
                found = getattr(found, part)
    sections = set(re.findall(r"^## (\d+)\.", text, re.MULTILINE))
    for path in FORMAT.parent.glob("*.py"):
        for words in re.findall(r"FORMAT\.md sections? ([\d, and]+)", path.read_text("utf-8")):
            assert set(re.findall(r"\d+", words)) <= sections, path.name
