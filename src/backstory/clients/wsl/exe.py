"""Calls of `wsl.exe`: which distributions there are, and programs run inside one, without a shell in between."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...errors import ClientError
from ..program import quiet_flags

LIMIT = 30.0
OWN_ERROR = (-1, 255, 4294967295)
"""Exit codes of wsl.exe itself, as Windows and others count them; our scripts leave with none of these."""
NAME = re.compile(r"[a-zA-Z0-9._-]{1,256}")
HELPERS = re.compile(r"docker-desktop(-data)?|rancher-desktop(-data)?|podman-machine-.*", re.IGNORECASE)
"""Distributions that programs keep for themselves."""


class Done(NamedTuple):
    """The end of a call, its output as bytes."""

    code: int
    out: bytes
    err: bytes


class Wsl:
    """One `wsl.exe`, with the environment that its calls get."""

    def __init__(self, program: str, env: Mapping[str, str], limit: float = LIMIT) -> None:
        self.program = program
        self.env = {**env, "WSL_UTF8": "1", "WSL_DISABLE_WARNINGS": "1"}
        self.limit = limit

    def distributions(self, *, running: bool = False) -> list[str]:
        """The distributions that are of use, the default one first. Raises `ClientError` where WSL is not there."""
        done = self._call(["--list", *(["--running"] if running else []), "--quiet"])
        text = decode(done.out)
        if done.code != 0:
            if running:
                return []  # with none running, wsl.exe calls that an error
            said = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
            raise ClientError(f"WSL cannot be used here; wsl.exe said: {said[:200]}")
        names = [line.strip() for line in text.splitlines()]
        return [name for name in names if NAME.fullmatch(name) and not HELPERS.fullmatch(name)]

    def words(self, distribution: str, *words: str) -> list[str]:
        """The call that runs a program inside, from the home folder: no shell and no profile come between."""
        return [self.program, "--distribution", distribution, "--cd", "~", "--exec", *words]

    def script(self, distribution: str, script: str, *args: str, data: bytes = b"") -> Done:
        """Run a script of `sh` inside, with `data` as its standard input. Raises `ClientError`."""
        done = self._call(self.words(distribution, "/bin/sh", "-c", script, "sh", *args)[1:], data)
        if done.code in OWN_ERROR:
            said = " ".join(decode(done.out or done.err).split())[:300]
            raise ClientError(f"{distribution} cannot be used; wsl.exe said: {said}")
        return done

    def _call(self, args: Sequence[str], data: bytes = b"") -> Done:
        try:
            done = subprocess.run(
                [self.program, *args],
                input=data,
                capture_output=True,
                env=self.env,
                timeout=self.limit,
                creationflags=quiet_flags(),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ClientError(f"wsl.exe gave no answer in {self.limit:.0f} s. Try again.") from error
        except OSError as error:
            raise ClientError(f"{self.program} cannot be started: {error.strerror or error}") from error
        return Done(done.returncode, done.stdout, done.stderr)


def find(env: Mapping[str, str]) -> Wsl:
    """The `wsl.exe` of this computer. Raises `ClientError` where there is none, and inside a distribution."""
    if env.get("WSL_DISTRO_NAME"):
        raise ClientError("this is a distribution: run it on Windows, or here: backstory setup cline")
    system = os.path.join(env.get("SystemRoot", ""), "System32", "wsl.exe")  # noqa: PTH118
    program = system if os.path.isabs(system) and os.path.isfile(system) else None  # noqa: PTH113, PTH117
    program = program or shutil.which("wsl.exe", path=env.get("PATH"))
    if program is None:
        raise ClientError("there is no wsl.exe here: this is for Windows with WSL")
    return Wsl(program, env)


def decode(data: bytes) -> str:
    """Text of wsl.exe itself: UTF-16 or UTF-8, told apart by its bytes, without carriage returns.

    Old builds ignore `WSL_UTF8`, and write UTF-16 without a byte order mark.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    elif data.startswith(b"\xef\xbb\xbf"):
        text = data[3:].decode("utf-8", "replace")
    elif len(data) >= 2 and len(data) % 2 == 0 and data[1::2].count(0) * 2 > len(data) // 2:
        text = data.decode("utf-16-le", "replace")
    else:
        text = data.decode("utf-8", "replace")
    return text.replace("\r", "")
