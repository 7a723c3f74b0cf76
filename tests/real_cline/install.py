"""Where the real Cline command line comes from: an environment variable, a cache, or npm."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

CLINE_VERSION = "3.0.65"
"""The version that the expectations of this folder were written against."""

REPOSITORY = Path(__file__).resolve().parents[2]


class NoCline(Exception):
    """There is no Cline to drive; the text says why."""


def cline_binary() -> Path:
    """`CLINE_BINARY`, else the one in the cache, where npm puts it when it is missing."""
    named = os.environ.get("CLINE_BINARY", "").strip()
    if named:
        if not Path(named).is_file():
            raise NoCline(f"CLINE_BINARY names no file: {named}")
        return Path(named)
    cache = Path(os.environ.get("BACKSTORY_CLINE_CACHE") or REPOSITORY / ".cache" / "cline")
    package = f"@cline/cli-{_system()}-{_processor()}"
    binary = cache / "node_modules" / package / "bin" / "cline"
    if not binary.is_file():
        _install(cache, f"{package}@{CLINE_VERSION}")
    if not binary.is_file():
        raise NoCline(f"npm installed {package}, but {binary} is not there")
    return binary


def _install(cache: Path, package: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NoCline("neither CLINE_BINARY nor npm is there to get Cline with")
    cache.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(cache), "--no-audit", "--no-fund", package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise NoCline(f"npm could not install {package}: {done.stderr.strip()[-500:]}")


def _system() -> str:
    return {"win32": "windows"}.get(sys.platform, sys.platform)


def _processor() -> str:
    machine = platform.machine().lower()
    return {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(machine, machine)
