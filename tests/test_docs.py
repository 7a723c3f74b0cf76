"""The documents say what the program does: examples run, tables name what is there, links lead somewhere.

Examples run in a home whose `~/.cline/data/sessions` holds the recordings, one home a document, in their order:

- ```python and ```sql blocks are executed; a ```text block right after one is its output.
- In a ```console block each line that begins with `$ backstory` is run and must leave with 0, or with N where the
  line ends in `# exit code N`. What stands below it is its output; where nothing does, none is compared.
- In expected output a line `…` stands for any lines, and `…` inside a line for any text. How wide the blanks between
  columns are does not matter.
- `<!-- home: demo -->` in a document gives it the sample sessions in place of the recordings, and the time of day at
  which they are told.
- `<!-- example: SCENARIO[/SESSION] PLACE -->` before a ```json block: it is what the record holds at that place;
  fields may be left out.
- `<!-- fields: NAME -->`, `<!-- values: NAME -->`, `<!-- view: NAME -->` and `<!-- settings: FILE -->` before a table:
  its first column names exactly these.
- A ```toml block is a file of settings that can be loaded.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import documents
import pytest
import recordings
from documents import DOCS, FORMAT, ROOT, Block, blocks, calls, each, tables

from backstory import Archive, config, read_session
from backstory.cli.main import VERBS, cli
from backstory.memory.memory import Memory
from backstory.memory.mended import Mended
from backstory.schema import session, step
from backstory.schema.document import record_json
from backstory.store import indexing, results

SCHEMA = DOCS / "schema.md"
EXAMPLES = [block for block in blocks(SCHEMA) if block.language == "json"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of one document; its examples run beside it."""
    made = documents.make_home(tmp_path / "home")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(made))
    monkeypatch.chdir(tmp_path)
    return made


def backstory(home: Path, *words: str, zone: str = "UTC") -> subprocess.CompletedProcess[str]:
    """Run the program in a home; what it says on both streams is one text, as in a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "backstory", *words],
        env=documents.environment(home, zone),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=60,
    )


@pytest.mark.parametrize("path", each("python"))
def test_python_runs(path: Path, home: Path) -> None:
    names: dict[str, Any] = {}
    for block in blocks(path):
        if block.language == "python":
            where, out = f"{path.name}:{block.line}", io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block.text, where, "exec"), names)
            if block.output is not None:
                documents.assert_output(block.output, out.getvalue(), where)


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
                documents.assert_output(block.output, "\n".join(lines), f"{path.name}:{block.line}")


@pytest.mark.parametrize("path", each("console"))
def test_console_runs(path: Path, home: Path) -> None:
    told = "<!-- home: demo -->" in path.read_text("utf-8")
    zone = documents.tell_samples(home) if told else "UTC"
    for block in blocks(path):
        for call, shown in calls(block.text) if block.language == "console" else ():
            words = [re.sub("^~", str(home), word) for word in shlex.split(call, comments=True)]
            if words[:1] != ["backstory"]:
                continue
            code = re.search(r"# exit code (\d+)$", call)
            done = backstory(home, *words[1:], zone=zone)
            where = f"{path.name}:{block.line}: {call}"
            assert done.returncode == (int(code[1]) if code else 0), f"{where}\n{done.stdout}"
            if shown:
                documents.assert_output(shown, done.stdout, where)


@pytest.mark.parametrize("path", each("console", "sh", ""))
def test_options_exist(path: Path) -> None:
    """Also in examples that are not run."""
    context = cli.make_context("backstory", ["up"], resilient_parsing=True)
    for block in blocks(path):
        if block.language not in ("console", "sh", ""):
            continue
        for call in re.findall(r"^(?:\$ )?(backstory(?: [^|>&#\n]*)?)", block.text, re.MULTILINE):
            words = shlex.split(call)
            verb = next((word for word in words if word in VERBS), None)
            own = cli.get_command(context, verb) if verb else None
            known = {
                name
                for command in filter(None, (cli, own))
                for param in command.params
                for name in param.opts
            }
            wrong = {word for word in words if word.startswith("--")} - known - {"--help"}
            assert not wrong, f"{path.name}:{block.line}: {call}"


@pytest.mark.parametrize("path", documents.DOCUMENTS, ids=documents.name)
def test_links_resolve(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        assert place.exists(), f"{path.name}: {target}"
        assert not anchor or anchor in documents.anchors(place), f"{path.name}: {target}"


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.mark)
def test_example_is_real(block: Block) -> None:
    kind, where, place = block.mark.split(" ", 2)
    assert kind == "example:"
    scenario, _, name = where.partition("/")
    folder = recordings.session_path(scenario, name or recordings.sessions(scenario)[0])
    found: Any = record_json(read_session(folder, env={}))
    group, _, key = place.partition("/")
    for part in group.split("."):
        found = found[part]
    if key:
        own, dot, _ = key.partition(".payload")
        found = next(item for item in found if own in (item.get("id"), item.get("key")))
        found = found["payload"] if dot else found
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
    report = json.loads(backstory(home, "capture", "--once", "--json").stdout)
    learned = json.loads(backstory(home, "learn", "--json").stdout)
    recalled = json.loads(backstory(home, "recall", "hello", "--json").stdout)
    record = json.loads(backstory(home, "show", "2js90", "--json").stdout)
    listed = json.loads(backstory(home, "sessions", "--limit", "1", "--json").stdout)["sessions"][0]
    found = json.loads(backstory(home, "search", "does not exist", "--json").stdout)
    doctor = json.loads(backstory(home, "doctor", "--json").stdout)
    hits = [hit for group in found["sessions"] for hit in group["hits"]]
    return {
        **{name: set(kind.__struct_fields__) for name, kind in STRUCTS.items()},
        **{name: set(record[f"{name}s"][0]) for name in ("segment", "actor", "turn", "call")},
        "step": {field for one in record["steps"] for field in one},
        "record": set(record),
        "session": set(session.Session.__struct_fields__),
        "tokens": set(record["calls"][0]["tokens"]),
        "listed": set(listed) - set(session.Session.__struct_fields__),
        "last_step": set(listed["last_step"]),
        "found": set(found),
        "hit": set(hits[0]),
        "fate": set(next(hit["fate"] for hit in hits if hit["fate"])),
        "findings": set(doctor),
        "finding": set(doctor["findings"][0]),
        "report": set(report),
        "learned": set(learned),
        "outcome": set(learned["learned"][0]),
        "refusal": set(learned["refused"][0]),
        "recalled": set(recalled),
        "passage": set(recalled["results"][0]),
        "failure": {*Mended.__struct_fields__, "after_ms"} - {"after"},
    }


def test_schema_names_every_field(home: Path) -> None:
    documented, found = tables(SCHEMA, "fields"), shapes(home)
    assert set(documented) == set(found)
    for name, words in documented.items():
        assert sorted(words) == sorted(found[name]), name


def test_show_and_lists_give_a_session_the_same_fields(home: Path) -> None:
    listed = json.loads(backstory(home, "sessions", "--limit", "1", "--json").stdout)["sessions"][0]
    found = json.loads(backstory(home, "search", "does not exist", "--json").stdout)["sessions"][0]["session"]
    shown = json.loads(backstory(home, "show", "2js90", "--json").stdout)["session"]
    assert set(listed) == set(found) == set(shown) - {"manifest"}


def test_show_json_of_one_prompt_is_that_prompt_alone(home: Path) -> None:
    whole = json.loads(backstory(home, "show", "m9lz0", "--json").stdout)
    part = json.loads(backstory(home, "show", "m9lz0", "--turn", "2", "--json").stdout)
    for name in ("session", "segments", "actors"):
        assert part[name] == whole[name]
    assert part["turns"] == [whole["turns"][1]]
    for name in ("steps", "calls"):
        assert part[name] == [one for one in whole[name] if one["turn_id"] == whole["turns"][1]["id"]]


def test_every_verb_that_answers_has_json() -> None:
    context = cli.make_context("backstory", ["up"], resilient_parsing=True)
    commands = {verb: cli.get_command(context, verb) for verb in VERBS}
    without = {
        verb
        for verb, own in commands.items()
        if own is not None and not any("--json" in param.opts for param in own.params)
    }
    assert without == {"up", "serve", "mcp", "demo"}


def test_schema_names_every_value() -> None:
    documented = tables(SCHEMA, "values")
    inferred = get_args(get_type_hints(session.Segment)["inferred_from"])[0]
    vocabulary = {
        "decision": step.Decision,
        "decision_source": step.DecisionSource,
        "content_status": step.ContentStatus,
        "error kinds": step.ErrorKind,
        "inferred_from": inferred,
        "state": results.State,
    }
    assert set(documented) == {*vocabulary, "flags"}
    for name, literal in vocabulary.items():
        assert set(documented[name]) == set(get_args(literal)), name


def test_schema_names_every_flag() -> None:
    flags = set(tables(SCHEMA, "values")["flags"])
    modules = [FORMAT.parent / f"{name}.py" for name in ("steps", "toolsteps", "prompt")]
    written: set[object] = set()
    for path in (*modules, ROOT / "src/backstory/schema/record.py"):
        tree = ast.parse(path.read_text("utf-8"))
        written |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert flags <= written
    for scenario in recordings.scenarios():
        for name in recordings.sessions(scenario):
            for one in read_session(recordings.session_path(scenario, name), env={}).steps:
                assert set(one.flags) <= flags, one.id


def test_archive_names_every_column(home: Path) -> None:
    documented = tables(DOCS / "archive.md", "view")
    with Archive() as archive:
        found = archive.connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
        assert sorted(documented) == sorted(name for (name,) in found)
        for view, words in documented.items():
            columns = [row[1] for row in archive.connection.execute(f"PRAGMA table_info({view})")]
            assert sorted(words) == sorted(columns), view


def test_archive_says_how_much_is_searchable() -> None:
    _, mark, table = (DOCS / "archive.md").read_text("utf-8").partition("<!-- limits: indexing -->")
    assert mark
    said = [int(figure.replace(",", "")) for figure in re.findall(r"\d[\d,]*", table.partition("\n## ")[0])]
    given = [
        indexing.MESSAGE,
        indexing.THINKING,
        indexing.COMMAND,
        indexing.CODE,
        indexing.CODE // 3,
        indexing.INPUT,
    ]
    came = [indexing.HEAD, indexing.TAIL, indexing.FAILED_HEAD, indexing.FAILED_TAIL]
    assert said == [*given, *came, indexing.READ_HEAD, indexing.READ_TAIL, indexing.HEAD]


@pytest.mark.parametrize(("part", "face"), [("Methods", Archive), ("The memory", Memory)], ids=str)
def test_api_names_every_method(part: str, face: type) -> None:
    _, _, text = (DOCS / "api.md").read_text("utf-8").partition(f"\n### {part}\n")
    shown = dict(
        re.findall(r"`(\w+)\(([\w, ]*)\)`", re.split(r"^##", text, maxsplit=1, flags=re.MULTILINE)[0])
    )
    known: dict[str, Callable[..., Any]] = {
        name: own for name, own in vars(face).items() if inspect.isfunction(own) and name[0] != "_"
    }
    if face is Archive:
        known["Archive"] = Archive
    for name, method in known.items():
        wanted = [param for param in inspect.signature(method).parameters if param != "self"]
        assert name in shown
        assert [word for word in shown[name].split(", ") if word] == wanted, name


def test_options_of_the_verbs_are_current() -> None:
    spec = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    assert spec is not None
    assert spec.loader is not None
    generate_cli = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate_cli)
    text = (DOCS / "cli.md").read_text("utf-8")
    assert generate_cli.verbs_in(text) == ["backstory", *VERBS]
    assert generate_cli.render(text) == text, "run: python docs/generate_cli.py"


def test_settings_are_named_and_can_be_set(tmp_path: Path) -> None:
    path = DOCS / "cli.md"
    assert tables(path, "settings") == {config.FILE: list(config.Config.__struct_fields__)}
    shown = [block.text for block in blocks(path) if block.language == "toml"]
    assert shown
    for text in shown:
        (tmp_path / config.FILE).write_text(text, "utf-8")
        assert config.load(tmp_path) != config.Config()


def test_format_names_what_is_there() -> None:
    """The recordings and functions that `FORMAT.md` names, and its sections that the reader's comments name."""
    text = FORMAT.read_text("utf-8")
    spans = set(re.findall(r"`([^`]+)`", text))
    scenarios = {path.name for path in recordings.RECORDINGS.iterdir()}
    assert {span for span in spans if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", span)} <= scenarios
    sources = {path.stem: path for path in FORMAT.parent.glob("*.py")}
    for span in spans:
        module, dot, rest = span.partition(".")
        if dot and module in sources and re.fullmatch(r"[A-Za-z_.]+", rest):
            found: Any = importlib.import_module(f"backstory.sources.cline.{module}")
            for part in rest.split("."):
                assert hasattr(found, part), span
                found = getattr(found, part)
    sections = set(re.findall(r"^## (\d+)\.", text, re.MULTILINE))
    for path in sources.values():
        for words in re.findall(r"FORMAT\.md sections? ([\d, and]+)", path.read_text("utf-8")):
            assert set(re.findall(r"\d+", words)) <= sections, path.name
