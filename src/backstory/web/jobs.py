"""What goes on between requests: work in a thread of its own, and words that the next page says once asked."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import BackstoryError
from ..memory.undo import Taken

if TYPE_CHECKING:
    from .learning import Report
    from .looking import Seen

UNDO_SECONDS = 10.0
"""How long what was forgotten is held, in memory alone."""
NOTICES = 40
T = TypeVar("T")
Progress = Callable[[int, int], None]


class Stopped(BackstoryError):
    """The app is about to end."""


class Job(Generic[T]):
    """One kind of work that is never done twice at once. `result` is that of the last run that came to its end."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self.result: T | None = None
        self.problem = ""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.stopping = False

    @property
    def running(self) -> bool:
        """Whether it is being done now."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Callable[[Progress], T], broke: Callable[[], str]) -> bool:
        """Begin, unless it is being done already; says which. `broke` gives the words for a fault of ours."""
        with self._lock:
            if self.running:
                return False
            self.done = self.total = 0
            self.problem = ""
            self._thread = threading.Thread(target=self._run, args=(work, broke), daemon=True)
            self._thread.start()
            return True

    def _run(self, work: Callable[[Progress], T], broke: Callable[[], str]) -> None:
        try:
            self.result = work(self._progress)
        except BackstoryError as error:
            self.problem = str(error)
        except Exception:
            self.problem = broke()

    def _progress(self, done: int, total: int) -> None:
        if self.stopping:
            raise Stopped("Backstory was stopped.")
        self.done, self.total = done, total

    def wait(self, seconds: float) -> bool:
        """Wait a moment for the end; says whether it came."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.running


class Notice:
    """What the page after a change says; `taken` is held as long as it can be put back."""

    def __init__(self, words: tuple[str, ...], role: str = "", taken: Taken | None = None) -> None:
        self.words = words
        self.role = role
        self.taken = taken


class Notices:
    """Notices by the key that stands in the address, so that nobody else's link can put words into a page."""

    def __init__(self, seconds: float = UNDO_SECONDS) -> None:
        self.seconds = seconds
        self._kept: OrderedDict[str, Notice] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, *words: str, role: str = "", taken: Taken | None = None) -> str:
        """Keep a notice; returns its key."""
        key = secrets.token_urlsafe(9)
        with self._lock:
            self._kept[key] = Notice(words, role, taken)
            while len(self._kept) > NOTICES:
                self._kept.popitem(last=False)
        if taken is not None:
            self._let_go_later(key)
        return key

    def get(self, key: str) -> Notice | None:
        """The notice of a key, while it is kept."""
        return self._kept.get(key)

    def take(self, key: str) -> Taken | None:
        """What can be put back, once: null when the time is over or somebody has taken it."""
        with self._lock:
            notice = self._kept.get(key)
            taken = notice.taken if notice is not None else None
            if notice is not None:
                notice.taken = None
            return taken

    def give_back(self, key: str, taken: Taken) -> None:
        """Hold once more what could not be put back, so that it can be tried again."""
        with self._lock:
            if key in self._kept:
                self._kept[key].taken = taken
        self._let_go_later(key)

    def _let_go_later(self, key: str) -> None:
        timer = threading.Timer(self.seconds, self.take, (key,))
        timer.daemon = True
        timer.start()


class Jobs:
    """Everything of this kind that the app has."""

    def __init__(self) -> None:
        self.learning: Job[Report] = Job()
        self.looking: Job[Seen] = Job()
        self.notices = Notices()
        self.changing = threading.Lock()
        """Held while an agent's files are changed."""

    def stop(self) -> None:
        """Let what goes on come to its end at its next step."""
        self.learning.stopping = self.looking.stopping = True
