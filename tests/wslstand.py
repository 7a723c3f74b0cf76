"""A stand-in for `wsl.exe` that really executes: distributions are folders, and what runs in one runs in its home.

It takes the options that the real one takes, prints its own text in the same encodings and on the same streams, and
gives the program inside the environment that a distribution gives: no profile, no variable of Windows that `WSLENV`
does not name. What it is told stands in `wsl.json` beside it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from connected import PROGRAM, install

SCRIPT = f"""\
#!{sys.executable}
import json, os, subprocess, sys
from pathlib import Path

PLACE = Path(__file__).parent
STATE = json.loads((PLACE / "wsl.json").read_text())
with (PLACE / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")


def say(text, code=0):
    utf8 = os.environ.get("WSL_UTF8") == "1" and not STATE.get("old")
    data = text.replace("\\n", "\\r\\n").encode("utf-8" if utf8 else "utf-16-le")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    raise SystemExit(code & 255)


def listed(args):
    names = STATE["distributions"]
    if STATE.get("absent"):
        say("Das Windows-Subsystem für Linux ist nicht installiert.\\n", 1)
    if "--running" in args:
        running = [name for name, own in names.items() if own.get("running")]
        if not running:
            say("There are no running distributions.\\n", 255)
        say("".join(name + "\\n" for name in running))
    say("".join(name + "\\n" for name, own in names.items() if not own.get("installing")))


def run(name, words):
    own = {{key.lower(): value for key, value in STATE["distributions"].items()}}.get(name.lower())
    if own is None:
        say("There is no distribution with the supplied name.\\nError code: Wsl/Service/WSL_E_DISTRO_NOT_FOUND\\n", 255)
    if own.get("broken"):
        say("Catastrophic failure\\nError code: Wsl/Service/E_UNEXPECTED\\n", 255)
    home = own["home"]
    env = {{"HOME": home, "USER": "dev", "LOGNAME": "dev", "SHELL": "/bin/bash", "NAME": "host", "LANG": "C.UTF-8",
           "WSL_DISTRO_NAME": name, "PATH": str(PLACE / "inside") + ":/usr/local/bin:/usr/bin:/bin"}}
    for variable in filter(None, os.environ.get("WSLENV", "").split(":")):
        variable = variable.split("/")[0]
        if variable in os.environ:
            env[variable] = os.environ[variable]
    raise SystemExit(subprocess.run(words, env=env, cwd=home).returncode)


args = sys.argv[1:]
if args[:1] == ["--list"]:
    listed(args)
name, words = None, []
while args:
    word = args.pop(0)
    if word in ("-d", "--distribution"):
        name = args.pop(0)
    elif word == "--cd":
        assert args.pop(0) == "~"
    elif word in ("-e", "--exec"):
        words, args = args, []
    else:
        say("Invalid command line argument: " + word + "\\n", 255)
run(name, words)
"""

WSLPATH = """\
#!/bin/sh
# `wslpath -u`: drives below a folder of the test.
printf '%s\\n' "$2" | sed -e 's|^\\([A-Za-z]\\):|DRIVES/\\1|' -e 's|\\\\|/|g' -e 's|^DRIVES/C|DRIVES/c|'
"""


class Windows:
    """A computer with `wsl.exe` on its path, a drive C with an interpreter, and some distributions."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "system32"
        self.drives = root / "mnt"
        self.state: dict[str, Any] = {"distributions": {}}
        self.exe = install(self.bin, SCRIPT, "wsl.exe")
        install(self.bin / "inside", WSLPATH.replace("DRIVES", str(self.drives)), "wslpath")
        install(self.drives / "c" / "Program Files" / "Python's", PYTHON, "python.exe")
        install(self.drives / "c" / "Program Files" / "Python's", PROGRAM, "server")
        self.interpreter = "C:\\Program Files\\Python's\\python.exe"
        self.save()

    def save(self) -> None:
        (self.bin / "wsl.json").write_text(json.dumps(self.state))

    def add(self, name: str, **more: Any) -> Path:
        """A distribution; returns the home folder in it."""
        home = self.root / "distributions" / name / "home" / "dev"
        home.mkdir(parents=True)
        self.state["distributions"][name] = {"home": str(home), **more}
        self.save()
        return home

    def calls(self) -> list[list[str]]:
        path = self.bin / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def path(self) -> str:
        return f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin"


PYTHON = """\
#!/bin/sh
# The interpreter of Windows: started for our module, it is the server.
echo "$BACKSTORY_CWD $BACKSTORY_HOME $PWD $*" >> "$(dirname "$0")/started"
[ "$*" = "-E -P -X utf8 -m backstory mcp" ] || exit 9
exec "$(dirname "$0")/server" mcp
"""
