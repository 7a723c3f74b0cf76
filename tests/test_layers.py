"""Data flows one way: what each part may import, and what the way of a quick verb must not."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "backstory"
MAY = {
    "errors": set(),
    "redact": set(),
    "config": {"errors"},
    "schema": {"errors"},
    "sources": {"errors", "schema"},
    "store": {"errors", "redact", "schema"},
    "capture": {"errors", "schema", "sources", "store"},
    "ledger": {"errors", "config", "schema", "store"},
    "memory": {"errors", "redact", "schema", "store"},
    "archive": {"errors", "config", "schema", "sources", "store", "capture", "ledger", "memory"},
    "demo": {"errors", "schema"},
    "clients": {"errors", "schema", "sources"},
    "story": {"errors", "schema", "store"},
}
FACES = {*MAY}
"""What the faces may import: every part, but not one another."""
MAY |= {"mcp": FACES, "web": {*FACES, "cli"}, "cli": {*FACES, "mcp", "web"}}

PLACES = re.compile(r"from \.\.sources\.cline import paths|from \.\.sources\.cline\.paths import \w+")
"""The one module of a source that is pure rules of an environment: it may be shared."""


def parts_imported(path: Path) -> set[str]:
    """The parts of the package that a module imports, itself left out."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = parts[: len(parts) - node.level]
            names = [*base, *(node.module or "").split(".")] if node.module else [*base, node.names[0].name]
            found.add(names[0])
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("backstory."):
            found.add((node.module or "").split(".")[1])
    return found - {parts[0]}


@pytest.mark.parametrize("part", sorted(MAY))
def test_imports_flow_one_way(part: str) -> None:
    files = (
        [PACKAGE / f"{part}.py"]
        if (PACKAGE / f"{part}.py").exists()
        else sorted((PACKAGE / part).rglob("*.py"))
    )
    assert files
    for path in files:
        wrong = parts_imported(path) - MAY[part] - {"__version__", "Archive", "read_session"}
        assert not wrong, f"{path.relative_to(PACKAGE)} imports {', '.join(sorted(wrong))}"


RUNS = {"command", "cli", "run", "main", "App", "Term", "pass_app"}
"""What of the command line runs, asks, or writes to a terminal."""


def test_the_app_takes_words_from_the_command_line_and_nothing_that_runs() -> None:
    for path in (PACKAGE / "web").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "cli":
                assert not {alias.name for alias in node.names} & RUNS, path


def test_the_terminal_loads_nothing_of_the_app() -> None:
    loaded = modules_after("from backstory.cli import sessions, show, search, usage, capture, up, serve")
    assert not loaded & {"starlette", "uvicorn", "jinja2", "markdown_it", "nh3", "pygments", "svg"}


def test_only_its_own_folder_and_the_registry_know_an_agent() -> None:
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        text = path.read_text("utf-8")
        if parts[0] == "clients":
            text = PLACES.sub("", text)
        if parts[:2] not in (("sources", "cline"), ("sources", "__init__.py")):
            assert "sources.cline" not in text, path


def test_settings_need_of_a_source_only_where_its_agent_keeps_its_files() -> None:
    known = {
        line
        for path in (PACKAGE / "clients").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if "sources" in line and "import" in line
    }
    assert known
    assert all(PLACES.fullmatch(line) for line in known), known


def modules_after(code: str) -> set[str]:
    """The modules that an interpreter has loaded after running this."""
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = modules_after("import backstory; backstory.__version__")
    assert not loaded & {"msgspec", "sqlite3", "zstandard", "rich", "watchfiles", "click"}


def test_reading_needs_neither_drawing_nor_watching() -> None:
    loaded = modules_after("from backstory import Archive, read_session")
    assert not loaded & {"rich", "watchfiles", "click"}
