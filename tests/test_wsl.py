"""`backstory wsl`: a client in a distribution is registered from Windows, by a `wsl.exe` that really executes."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from connected import Place
from wslstand import Windows

from backstory.clients import rule
from backstory.clients.wsl import exe, launcher, records

OTHER = {"command": "npx", "args": ["-y", "x"]}


@pytest.fixture
def windows(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> Windows:
    """This computer as Windows, as far as the verb sees it."""
    found = Windows(tmp_path / "windows")
    monkeypatch.setenv("PATH", found.path)
    monkeypatch.setattr(sys, "executable", found.interpreter)
    return found


class Distribution:
    """A distribution with an installed Cline."""

    def __init__(self, windows: Windows, name: str, **more: Any) -> None:
        self.home = windows.add(name, **more)
        self.cline = self.home / ".cline"
        self.cline.mkdir()
        self.launcher = self.cline / "backstory-wsl"
        self.settings = self.cline / "data" / "settings" / "cline_mcp_settings.json"
        self.rule = self.cline / "rules" / "backstory.md"

    def write(self, text: Any) -> bytes:
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        data = (text if isinstance(text, str) else json.dumps(text, indent=2)).encode()
        self.settings.write_bytes(data)
        return data

    def servers(self) -> Any:
        return json.loads(self.settings.read_bytes())["mcpServers"]

    def files(self) -> dict[str, tuple[bytes, int]]:
        paths = [path for path in sorted(self.home.rglob("*")) if path.is_file()]
        return {
            str(path.relative_to(self.home)): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths
        }


@pytest.fixture
def ubuntu(windows: Windows) -> Distribution:
    return Distribution(windows, "Ubuntu", running=True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--target", "claude"), 'target must be cline, not "claude".'),
        ((), "target must be cline: write --target cline."),
    ],
)
@pytest.mark.parametrize("what", ["setup", "remove"])
def test_the_target_is_checked_before_anything_is_looked_at(
    windows: Windows, place: Place, what: str, args: tuple[str, ...], said: str
) -> None:
    done = place.run("wsl", what, *args)
    assert (done.code, done.err) == (1, f"backstory: {said}\n")
    assert windows.calls() == []


def test_setup_writes_launcher_entry_and_rule(ubuntu: Distribution, place: Place, windows: Windows) -> None:
    done = place.run("wsl", "setup", "--target", "cline")
    assert (done.code, done.err) == (0, "")
    assert stat.S_IMODE(ubuntu.launcher.stat().st_mode) == 0o755
    assert ubuntu.launcher.read_text() == launcher.text(windows.interpreter)
    assert ubuntu.servers() == {"backstory": {"command": str(ubuntu.launcher), "timeout": 60}}
    assert ubuntu.rule.read_text() == rule.text()
    assert sorted(ubuntu.files()) == [
        ".cline/backstory-wsl",
        ".cline/data/settings/cline_mcp_settings.json",
        ".cline/rules/backstory.md",
    ]
    assert "test   started it in Ubuntu: answered in" in done.out
    assert "6 tools" in done.out


def test_the_launcher_starts_the_interpreter_of_windows(
    ubuntu: Distribution, place: Place, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKSTORY_HOME", str(place.home / "own archive's"))
    assert place.run("wsl", "setup", "--target", "cline").code == 0
    folder = windows.drives / "c" / "Program Files" / "Python's"
    said = (folder / "started").read_text()
    assert said == f"{ubuntu.home} {place.home}/own archive's {folder} -E -P -X utf8 -m backstory mcp\n"


def test_a_second_setup_changes_nothing(ubuntu: Distribution, place: Place) -> None:
    place.run("wsl", "setup", "--target", "cline")
    before = ubuntu.files()
    done = place.run("wsl", "setup", "--target", "cline", "--distribution", "ubuntu")
    assert done.out.startswith("Already set up; nothing to change. Answered in")
    assert ubuntu.files() == before
    assert len(records.registered(place.home / ".backstory")) == 1


def test_settings_and_their_mode_are_kept_and_a_nested_transport_goes(
    ubuntu: Distribution, place: Place
) -> None:
    nested = {"type": "stdio", "command": str(ubuntu.launcher)}
    own = {"transport": nested, "disabled": True, "timeout": 9, "env": {"A": "b"}}
    ubuntu.write({"z": [1], "mcpServers": {"other": OTHER, "backstory": own, "last": OTHER}})
    ubuntu.settings.chmod(0o600)
    assert place.run("wsl", "setup", "--target", "cline").code == 0
    assert stat.S_IMODE(ubuntu.settings.stat().st_mode) == 0o600
    wanted = {"disabled": True, "timeout": 9, "env": {"A": "b"}, "command": str(ubuntu.launcher)}
    assert ubuntu.servers() == {"other": OTHER, "backstory": wanted, "last": OTHER}
    assert [path.name for path in ubuntu.settings.parent.iterdir()] == [ubuntu.settings.name]


def test_a_linked_settings_file_is_followed(ubuntu: Distribution, place: Place) -> None:
    real = ubuntu.home / "dotfiles.json"
    real.write_text('{"mcpServers": {}}')
    ubuntu.settings.parent.mkdir(parents=True)
    ubuntu.settings.symlink_to(real)
    assert place.run("wsl", "setup", "--target", "cline").code == 0
    assert ubuntu.settings.is_symlink()
    assert "backstory-wsl" in real.read_text()


def test_a_user_s_rule_is_kept(ubuntu: Distribution, place: Place) -> None:
    ubuntu.rule.parent.mkdir()
    ubuntu.rule.write_text("mine\n")
    done = place.run("wsl", "setup", "--target", "cline")
    assert f"keep {ubuntu.rule}: it was edited, and is yours" in " ".join(done.out.split())
    assert place.run("wsl", "remove", "--target", "cline").code == 0
    assert ubuntu.rule.read_text() == "mine\n"


@pytest.mark.parametrize(
    "entry",
    [
        OTHER,
        {"command": "/home/dev/.local/bin/backstory", "args": ["mcp"]},
        {"transport": {"type": "stdio", "command": "other"}},
        {"command": "LAUNCHER", "transport": {"type": "stdio", "command": "other"}},
        {"url": "https://h/"},
        None,
    ],
)
def test_an_entry_that_points_elsewhere_is_refused(ubuntu: Distribution, place: Place, entry: Any) -> None:
    text = json.dumps({"mcpServers": {"backstory": entry}}).replace("LAUNCHER", str(ubuntu.launcher))
    before = ubuntu.write(text)
    for what in ("setup", "remove"):
        done = place.run("wsl", what, "--target", "cline")
        assert done.code == 1
        assert 'has an entry "backstory" that starts something else. Nothing was changed.' in done.err
    assert [*ubuntu.files()] == [".cline/data/settings/cline_mcp_settings.json"]
    assert ubuntu.settings.read_bytes() == before
    assert records.registered(place.home / ".backstory") == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mcpServers": null}', "\ufeff{}"])
def test_settings_that_cline_cannot_read_are_refused(ubuntu: Distribution, place: Place, text: str) -> None:
    ubuntu.write(text)
    before = ubuntu.files()
    done = place.run("wsl", "setup", "--target", "cline")
    assert (done.code, "so Cline cannot read it either" in done.err) == (1, True)
    assert ubuntu.files() == before


def test_a_launcher_of_somebody_else_is_refused(ubuntu: Distribution, place: Place) -> None:
    ubuntu.launcher.write_text("#!/bin/sh\nexec other\n")
    before = ubuntu.files()
    assert "is another program's" in place.run("wsl", "setup", "--target", "cline").err
    assert ubuntu.files() == before


def test_removal_takes_entry_rule_and_launcher_and_nothing_else(ubuntu: Distribution, place: Place) -> None:
    ubuntu.write({"mcpServers": {"other": OTHER}})
    before = {path: data for path, (data, _) in ubuntu.files().items()}
    place.run("wsl", "setup", "--target", "cline")
    done = place.run("wsl", "remove", "--target", "cline")
    assert (done.code, done.err) == (0, "")
    assert {path: data for path, (data, _) in ubuntu.files().items()} == before
    assert not (place.home / ".backstory" / "wsl.json").exists()
    again = place.run("wsl", "remove", "--target", "cline")
    assert (again.code, again.out) == (0, "Ubuntu is not registered; there is nothing to take back.\n")


def test_removal_keeps_an_empty_list(ubuntu: Distribution, place: Place) -> None:
    place.run("wsl", "setup", "--target", "cline")
    place.run("wsl", "remove", "--target", "cline")
    assert ubuntu.servers() == {}


def test_dry_runs_change_nothing(ubuntu: Distribution, place: Place) -> None:
    done = place.run("wsl", "setup", "--target", "cline", "--dry-run")
    assert (
        done.out
        == f"""\
Cline in Ubuntu: {ubuntu.cline}

  would write  {ubuntu.launcher}   (8 lines)
  would write  {ubuntu.rule}   (12 lines)
  would write  {ubuntu.settings}
               + "mcpServers": {{
               +   "backstory": {{
               +     "command": "{ubuntu.launcher}",
               +     "timeout": 60
               +   }}
               + }}

Nothing was written.
"""
    )
    assert ubuntu.files() == {}
    place.run("wsl", "setup", "--target", "cline")
    before = ubuntu.files()
    done = place.run("wsl", "remove", "--target", "cline", "--dry-run")
    assert done.out.count("would remove") == 2
    assert done.out.endswith("Nothing was written.\n")
    assert ubuntu.files() == before
    assert len(records.registered(place.home / ".backstory")) == 1


def test_the_probe_reads_cline_dir_in_a_shell_without_profiles(
    windows: Windows, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = windows.add("Debian")
    for name in (".bashrc", ".profile", ".bash_profile"):
        (home / name).write_text("export CLINE_DIR=/nowhere\necho noise\nexit 3\n")
    moved = home / "my cline's"
    moved.mkdir()
    done = place.run("wsl", "setup", "--target", "cline")
    assert done.err.startswith("backstory: Cline is not installed in Debian: there is no ~/.cline in it.")
    monkeypatch.setenv("CLINE_DIR", str(moved))
    assert place.run("wsl", "setup", "--target", "cline").code == 1  # a variable of Windows stays there
    monkeypatch.setenv("WSLENV", "CLINE_DIR/u")
    assert place.run("wsl", "setup", "--target", "cline").code == 0
    assert (moved / "data/settings/cline_mcp_settings.json").is_file()
    (found,) = records.registered(place.home / ".backstory")
    assert (found.client_home, found.home) == (str(moved), str(home))


def test_a_record_is_told_apart_by_the_client_s_own_folder(place: Place) -> None:
    home = place.home / ".backstory"
    first = records.Registration("Ubuntu", "cline", "/home/dev/.cline")
    records.add(home, first)
    more = records.Registration("ubuntu", "cline", "/home/dev/.cline", "/home/dev", "/drives/")
    records.add(home, more)
    assert records.registered(home) == [more]
    other = records.Registration("Ubuntu", "cline", "/home/eve/.cline")
    records.add(home, other)
    assert records.of(records.registered(home), "UBUNTU", "cline") == [more, other]
    records.drop(home, first)
    assert records.registered(home) == [other]
    assert stat.S_IMODE((home / "wsl.json").stat().st_mode) == 0o600
    records.drop(home, other)
    assert list(home.iterdir()) == []


def test_the_sessions_of_a_registration_are_named_for_windows(ubuntu: Distribution, place: Place) -> None:
    place.run("wsl", "setup", "--target", "cline")
    (found,) = records.registered(place.home / ".backstory")
    path = str(ubuntu.cline / "data" / "sessions").replace("/", "\\")
    assert found.sessions == f"\\\\wsl.localhost\\Ubuntu{path}"
    assert found.context.to_distribution(found.sessions) == str(ubuntu.cline / "data" / "sessions")


def test_list_looks_only_into_what_runs_or_is_registered(
    ubuntu: Distribution, place: Place, windows: Windows
) -> None:
    windows.add("Debian", running=False)
    windows.add("Alpine", running=True)
    windows.add("docker-desktop", running=True)
    windows.add("docker-desktop-data")
    windows.add("Half", installing=True)
    place.run("wsl", "setup", "--target", "cline")
    (windows.bin / "calls").unlink()
    done = place.run("wsl", "list")
    assert (
        done.out
        == f"""\
DISTRIBUTION  CLIENT  REGISTERED  FOLDER
Ubuntu        cline   yes         {ubuntu.cline}
Debian        cline   no          not running, not looked into
Alpine        cline   no          not installed
"""
    )
    touched = {call[1] for call in windows.calls() if call[0] == "--distribution"}
    assert touched == {"Ubuntu", "Alpine"}
    found = place.run("wsl", "list", "--json").json
    assert [row["client_home"] for row in found["distributions"]] == [str(ubuntu.cline), None, None]


def test_a_distribution_that_was_removed_can_be_forgotten(
    ubuntu: Distribution, place: Place, windows: Windows
) -> None:
    windows.add("Debian", running=True)
    place.run("wsl", "setup", "--target", "cline")
    del windows.state["distributions"]["Ubuntu"]
    windows.save()
    call = "backstory wsl remove --target cline --distribution Ubuntu"
    assert call in " ".join(place.run("wsl", "list").out.split())
    done = place.run(*call.split()[1:])
    assert (done.code, done.out) == (0, "Ubuntu is not there any more; its registration is forgotten.\n")
    assert records.registered(place.home / ".backstory") == []


@pytest.mark.parametrize("old", [False, True], ids=["utf-8", "utf-16"])
def test_what_wsl_says_is_passed_on(place: Place, windows: Windows, old: bool) -> None:
    windows.state["old"] = old
    windows.add("Ubuntu", broken=True)
    done = place.run("wsl", "setup", "--target", "cline")
    said = "Catastrophic failure Error code: Wsl/Service/E_UNEXPECTED"
    assert (done.code, done.err) == (1, f"backstory: Ubuntu cannot be used; wsl.exe said: {said}\n")
    done = place.run("wsl", "setup", "--target", "cline", "--distribution", "Arch")
    assert done.err == 'backstory: there is no distribution "Arch". There is Ubuntu.\n'
    windows.state["absent"] = True
    windows.save()
    done = place.run("wsl", "list")
    assert done.err.startswith(
        "backstory: WSL cannot be used here; wsl.exe said: Das Windows-Subsystem für Linux"
    )


def test_without_distributions_or_without_wsl(
    place: Place, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place.run("wsl", "list").out == "WSL has no distribution yet.\n"
    assert "has no distribution yet" in place.run("wsl", "setup", "--target", "cline").err
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    assert "run it on Windows, or here: backstory setup cline" in place.run("wsl", "list").err
    monkeypatch.delenv("WSL_DISTRO_NAME")
    monkeypatch.setenv("PATH", "/usr/bin")
    assert "there is no wsl.exe here" in place.run("wsl", "list").err


def test_a_wsl_that_hangs_is_given_up(tmp_path: Path) -> None:
    from connected import install

    from backstory.errors import ClientError

    hanging = install(tmp_path, f"#!{sys.executable}\nimport time\ntime.sleep(60)\n", "wsl.exe")
    with pytest.raises(ClientError, match=r"no answer in 1 s"):
        exe.Wsl(str(hanging), os.environ, limit=1.0).distributions()


TEXT = "Ubuntu\r\nDebian-12\r\r\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16 without mark", "utf-16", "utf-16 big"],
)
def test_text_is_decoded_by_its_bytes(data: bytes) -> None:
    assert exe.decode(data) == "Ubuntu\nDebian-12\n"
    assert exe.decode(b"") == ""
    assert exe.decode("Größe".encode()) == "Größe"


def test_quotes_and_signs_go_through_as_they_are(
    ubuntu: Distribution, place: Place, windows: Windows
) -> None:
    wsl = exe.find(os.environ)
    odd = ["$HOME", "`id`", "a \"b\" 'c'", "back\\slash\\", "two\nlines", "", "*"]
    done = wsl.script("Ubuntu", 'printf "%s\\0" "$@"; cat', *odd, data=b"\x00\xffdata\r\n")
    assert done.out == b"".join(word.encode() + b"\0" for word in odd) + b"\x00\xffdata\r\n"


def test_settings_that_change_meanwhile_are_not_overwritten(ubuntu: Distribution, place: Place) -> None:
    from backstory.clients.wsl import register
    from backstory.errors import ClientError

    host = register.Host(exe.find(os.environ), place.home / ".backstory", "C:\\python.exe")
    steps = register.plan_setup(host, place.client, "Ubuntu")
    theirs = ubuntu.write({"mcpServers": {"added": OTHER}})
    with pytest.raises(ClientError, match="it was changed meanwhile"):
        register.carry_out(host, steps)
    assert ubuntu.settings.read_bytes() == theirs


def test_cline_s_lock_is_honoured_inside(ubuntu: Distribution, place: Place) -> None:
    ubuntu.write({"mcpServers": {}})
    lock = ubuntu.settings.with_name(ubuntu.settings.name + ".lock")
    lock.mkdir()
    (lock / "owner.1.2.x").write_text("1.2.x")
    os.utime(lock, (1, 1))  # a dead writer's
    assert place.run("wsl", "setup", "--target", "cline").code == 0
    assert [path.name for path in ubuntu.settings.parent.iterdir()] == [ubuntu.settings.name]


def test_a_launcher_that_cannot_be_started_is_said(
    ubuntu: Distribution, place: Place, windows: Windows
) -> None:
    (windows.bin / "inside" / "wslpath").write_text("#!/bin/sh\nexit 1\n")
    done = place.run("wsl", "setup", "--target", "cline")
    assert done.code == 1
    assert "started it in Ubuntu: it did not answer: it ended without an answer" in done.out
