"""What the Setup page looks at in a thread of its own: distributions of WSL, and the doctor's findings."""

from __future__ import annotations

import sys
from typing import Any

from msgspec import Struct

from ..cli.connecting import here, named
from ..cli.doctor import SERVER
from ..cli.wsl import look_into
from ..clients.health import remarks
from ..clients.registration import Here
from ..clients.table import clients
from ..clients.wsl import exe, records
from ..clients.wsl.records import Registration
from ..clients.wsl.register import Host
from ..errors import ClientError
from ..store.results import Finding
from .desk import Desk
from .jobs import Progress

FRESH_MS = 30_000
"""How long what was seen is shown again without another look."""


class Seen(Struct):
    """What a look saw. `lost` are registrations of distributions that are not there any more."""

    at: int
    findings: list[Finding]
    distributions: list[dict[str, Any]]
    lost: list[Registration]


def start(desk: Desk, *, anew: bool) -> bool:
    """Look, unless a look goes on, or one was taken a moment ago and no other is wanted; says whether it began."""
    job = desk.jobs.looking
    if not anew and job.result is not None and desk.now() - job.result.at < FRESH_MS:
        return False
    return job.start(lambda progress: look(desk, progress), desk.broke)


def look(desk: Desk, progress: Progress) -> Seen:
    """The distributions, and what `backstory doctor` says."""
    where = here(desk.env)
    distributions, lost, wsl = _distributions(where)
    with desk.archive(patient=True) as archive:
        # While a first pass goes on in this process, another one would read the same files.
        reading = desk.status.capture == "reading"
        report = None if reading else archive.sync(desk.sessions_dirs, progress)
        findings = [*archive.doctor(desk.sessions_dirs, report), *wsl]
    for client in named(None):
        findings += [
            Finding(SERVER, one.level, one.text, one.details, one.advice) for one in remarks(client, where)
        ]
    return Seen(desk.now(), findings, distributions, lost)


def host(where: Here) -> Host | None:
    """This computer's WSL; null where there is none."""
    try:
        return Host(exe.find(where.env), where.home, sys.executable, where.archive)
    except ClientError:
        return None


def _distributions(where: Here) -> tuple[list[dict[str, Any]], list[Registration], list[Finding]]:
    """A row a distribution and client; what is neither running nor registered is not started to look into it."""
    found = host(where)
    if found is None:
        return [], [], []
    try:
        known = records.registered(where.home)
        names, running = found.wsl.distributions(), found.wsl.distributions(running=True)
    except ClientError as error:
        return [], [], [Finding("WSL", "look", str(error))]
    rows = [
        look_into(found, client, name, records.of(known, name, client.name), runs=name in running)
        for name in names
        for client in clients().values()
    ]
    lost = [one for one in known if not any(one.context.is_named(name) for name in names)]
    return rows, lost, []
