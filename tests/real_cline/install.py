"""Where the real Cline comes from: an environment variable, a cache, or npm."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

CLINE_VERSION = "3.0.65"
"""The version of the command line that the expectations of this folder were written against."""

SHARED_VERSION = "0.0.86"
"""The version of `@cline/shared`, which that command line has inside."""

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
    package = f"@cline/cli-{_system()}-{_processor()}"
    binary = _cache() / "node_modules" / package / "bin" / "cline"
    if not binary.is_file():
        _install(_cache(), f"{package}@{CLINE_VERSION}")
    if not binary.is_file():
        raise NoCline(f"npm installed {package}, but {binary} is not there")
    return binary


def shared_package() -> tuple[Path, Path]:
    """Node, and the folder of the cache in which it finds `@cline/shared`; npm puts it there when it is missing."""
    node = shutil.which("node")
    if node is None:
        raise NoCline("node is not there to run Cline's own functions with")
    # A folder of its own: npm would bring the rest of a folder in line with what it installs there.
    place = _cache() / "shared"
    if _version(place) != SHARED_VERSION:
        _install(place, f"@cline/shared@{SHARED_VERSION}")
    if (version := _version(place)) != SHARED_VERSION:
        raise NoCline(f"npm installed @cline/shared {version} in {place}")
    return Path(node), place


def _version(place: Path) -> str | None:
    described = place / "node_modules" / "@cline" / "shared" / "package.json"
    return json.loads(described.read_text(encoding="utf-8"))["version"] if described.is_file() else None


def _cache() -> Path:
    return Path(os.environ.get("BACKSTORY_CLINE_CACHE") or REPOSITORY / ".cache" / "cline")


def _install(place: Path, package: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NoCline(f"npm is not there to get {package} with")
    place.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(place), "--no-audit", "--no-fund", package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise NoCline(f"npm could not install {package}: {done.stderr.strip()[-500:]}")


def _system() -> str:
    return {"win32": "windows"}.get(sys.platform, sys.platform)


def _processor() -> str:
    machine = platform.machine().lower()
    return {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(machine, machine)
