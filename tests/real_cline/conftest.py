"""A stage a test module: a throw-away home of Cline, a scripted model, and Backstory capturing meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from .home import MODEL, ClineHome, free_port
from .install import NoCline, cline_binary, shared_package
from .model import Model, Script
from .watching import Backstory, Record

T = TypeVar("T")


@dataclass
class Scene:
    """One run of Cline, and what Backstory had of it when both had come to rest."""

    session_id: str
    record: Record


@dataclass
class Stage:
    """Everything that one scenario plays on."""

    cline: ClineHome
    model: Model
    backstory: Backstory

    def play(
        self, prompt: str, *flags: str, scripts: tuple[Script, ...], model: str = MODEL, exits: int = 0
    ) -> Scene:
        """Run Cline once while Backstory captures, and wait till the archive has caught up."""
        self.model.play(*scripts)
        session_id = self.cline.run(prompt, *flags, model=model, exits=exits)
        assert not self.model.unscripted, f"requests without a reply: {self.model.unscripted}"
        return Scene(session_id, self.backstory.settled(session_id))


@pytest.fixture(scope="session")
def binary() -> Path:
    """The real Cline. Where there is none the tests are skipped; in CI that is a failure."""
    if os.name != "posix":
        pytest.skip("the stage of these tests ends processes the POSIX way")
    return there(cline_binary)


@pytest.fixture(scope="session")
def shared() -> tuple[Path, Path]:
    """Node, and where it finds Cline's own functions. Where they are not the same holds as for the real Cline."""
    return there(shared_package)


def there(find: Callable[[], T]) -> T:
    """What `find` finds; where it is missing the test is skipped, in CI failed."""
    try:
        return find()
    except NoCline as missing:
        if os.environ.get("CI"):
            pytest.fail(f"no real Cline in CI: {missing}")
        pytest.skip(f"no real Cline: {missing}")


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture(scope="session")
def template(binary: Path, model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClineHome]:
    """A home in which Cline was pointed at the scripted model; the other homes copy its settings."""
    home = ClineHome(binary, tmp_path_factory.mktemp("template") / "home", free_port()).settle_in()
    try:
        home.authorise(model.url)
        yield home
    finally:
        home.close()


@pytest.fixture(scope="module")
def stage(
    binary: Path, model: Model, template: ClineHome, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """A home and an archive of its own for one test module, with a capture that watches from the start."""
    place = tmp_path_factory.mktemp("stage")
    cline = ClineHome(binary, place / "home", free_port()).settle_in(template)
    backstory = Backstory(cline, place / "backstory")
    try:
        backstory.start_capture()
        yield Stage(cline, model, backstory)
        assert backstory.stop_capture() == 0, backstory.log()
    finally:
        backstory.stop_capture()
        cline.close()
        assert not cline.left_running()
