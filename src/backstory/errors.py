"""The errors that Backstory raises on purpose.

    BackstoryError
    ├── InputError        what the user named cannot be used: an id, a path, a value
    │   ├── UnknownSession    no session of that id
    │   ├── AmbiguousSession  a short id that fits several
    │   └── ClientError       an agent's settings cannot be changed as asked; they are as they were
    ├── ReadError         a file of the agent's could not be read
    │   └── TornFile          it does not parse: half written, or cut
    └── ArchiveError      the archive could not be opened or written

A message says what, where, and the next thing to do. The command line prints it on one line and exits with 1.
"""

from __future__ import annotations


class BackstoryError(Exception):
    """Root of the tree; its text is meant for a person."""


class InputError(BackstoryError):
    """What the user named cannot be used."""


class UnknownSession(InputError):
    """No session of that id is in the archive."""


class AmbiguousSession(InputError):
    """A short id or a beginning that fits several sessions."""


class ClientError(InputError):
    """An agent's settings cannot be changed as asked; nothing of them was changed."""


class ReadError(BackstoryError):
    """A file of the agent's could not be read; it names the file."""


class TornFile(ReadError):
    """A file that does not parse: half written at this moment, or cut for good."""


class ArchiveError(BackstoryError):
    """The archive could not be opened or written; it names the archive."""
