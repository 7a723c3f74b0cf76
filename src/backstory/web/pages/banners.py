"""What one should know of a session before reading it: gone, torn, salvaged, a copy, compacted, unanswered."""

from __future__ import annotations

from collections.abc import Iterator

from ...cli.words import counted
from ...schema.step import Message
from ..figures import line
from ..scene import Scene


def banners(made: Scene, origin: str = "") -> Iterator[str]:
    """One sentence each, by their weight; `origin` is the title of the session that this one copies."""
    session, clock = made.session, made.clock
    if made.entry.state == "error" and made.entry.error:
        yield f"Ended by an error of the provider: {line(made.entry.error)}"
    answered = any(_answers(step.payload) or step.type != "message" for step in made.record.steps)
    if not answered and made.entry.state not in ("running", "idle"):
        yield "Cline had received no answer when this session ended. The prompt is all there is."
    if session.gone:
        when = clock.day(session.updated_at)
        complete = f" This copy was complete on {when}, {clock.minute(session.updated_at)}." if when else ""
        yield f"Cline no longer has this session.{complete}"
    for salvage in session.fidelity.salvaged:
        name = "Cline's file" if salvage.file == f"{session.id}.messages.json" else line(salvage.file)
        yield f"{name} ends in the middle. Everything up to message {salvage.messages:,} is here."
    if session.copied_from is not None:
        count = sum("copied" in step.flags for step in made.record.steps)
        said = f"; its first {counted(count, 'step')} {'is' if count == 1 else 'are'} counted there"
        yield f'This session begins as a copy of "{origin}"{said if count else ""}.'
    if session.imported is not None:
        yield f"It was imported from {line(session.imported.tool) or 'another tool'}, which keeps it."
    if session.compaction is not None:
        kept = counted(session.compaction.kept_messages, "message")
        yield f"Compacted: the model sees a summary and {kept} of what stands here."


def _answers(payload: object) -> bool:
    return isinstance(payload, Message) and payload.role in ("assistant", "thinking", "system")
