"""From Cline's messages to steps: one pass over a conversation, message by message (FORMAT.md sections 3, 5 and 6).

The translator is given messages in order and yields rows; what the next message depends on is in its `State`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from ...schema.call import CallRow
from ...schema.session import TurnRow
from ...schema.step import Attachment, Message, Other, StepRow
from . import prompt, results, wire
from .approval import Policy
from .calls import call
from .loose import loose_message
from .state import Pending, State
from .times import epoch_ms
from .toolsteps import BLOCK, ToolSteps

IMAGE_KINDS = ("image", "media")
KNOWN_RAW = ("redacted_thinking", "image")
"""Blocks that are kept raw because there is nothing to read in them."""


class Context(Struct, frozen=True):
    """What does not change within a file. `stem` is empty for the lead's own conversation."""

    session_id: str
    file: str
    stem: str
    cwd: str | None
    policy: Policy
    started_at: int | None = None
    net_imports: bool = False

    def qualify(self, key: str) -> str:
        """An id that no other file of the session can give: a child's begins with its stem and a slash."""
        if self.stem:
            return f"{self.stem}/{key}"
        return f"./{key}" if "/" in key else key


class Translator:
    """Reads one conversation. `turns` and `calls` collect what the messages read so far have given."""

    def __init__(self, context: Context, state: State, first_at: int | None) -> None:
        self.context = context
        self.first_at = first_at
        self.state = state
        self.turns: dict[str, TurnRow] = {}
        self.calls: list[CallRow] = []
        self._opened: tuple[Any] | None = None
        self.conversation = f"cline-cli:{context.session_id}" + (f":{context.stem}" if context.stem else "")
        self.tools = ToolSteps(context.qualify, context.cwd, context.policy, state)

    def message(self, raw: Raw) -> list[StepRow]:
        """The steps of the next message, and of earlier calls whose results it brings."""
        index = self.state.msg
        self._opened = None
        try:
            message = wire.decode_wire(raw)
        except wire.JSON_ERRORS:
            message = loose_message(bytes(raw), self.state, self.context.file, index)
        at = epoch_ms(message.ts)
        inferred = at is None
        if at is None:
            at = self._inferred_time(message.ts)
        elif self.state.started_at is None:
            self.state.started_at = at
        key = self.state.unique(message.id or f"@{index}")
        if isinstance(message.content, str):
            message.content = [wire.Block(type="text", text=message.content)]
        if message.role == "user":
            found = self._user(message, raw, key, at, inferred)
        else:
            found = self._assistant(message, raw, key, at, inferred)
        self.state.msg = index + 1
        if at is not None:
            self.state.last_at = max(at, self.state.last_at or at)
        return found

    def unfinished(self, since: int) -> list[StepRow]:
        """The calls from message `since` on whose results have not come."""
        found: list[StepRow] = []
        for waiting in self.state.pending.values():
            for pending in waiting:
                if pending.msg >= since:
                    found += self.tools.finish(pending, None, None)
        return found

    def _inferred_time(self, ts: Any) -> int | None:
        """The time of the nearest message before one that has none of its own."""
        if ts is not None:
            self.state.refuse(self.context.file, f"/messages/{self.state.msg}/ts", str(ts))
        return self.state.last_at or self.first_at

    def _row(self, key: str, block: int, at: int | None, payload: Message | Other, *flags: str) -> StepRow:
        turn = self.state.turn
        imported = ("imported",) if self.state.importing else ()
        return StepRow(
            id=f"{self.context.qualify(key)}#{block}",
            msg=self.state.msg,
            sub=(block + 1) * BLOCK,
            type="other" if isinstance(payload, Other) else "message",
            payload=payload,
            pointer=f"/messages/{self.state.msg}/content/{block}",
            at=at,
            turn_id=turn.id if turn else None,
            outcome="failed" if "error" in flags else "ok",
            flags=(*flags, *imported),
        )

    def _user(self, message: wire.Wire, raw: Raw, key: str, at: int | None, inferred: bool) -> list[StepRow]:
        blocks = message.content
        assert isinstance(blocks, list)
        if len(blocks) == 1 and blocks[0].type == "tool_result":
            # Cline gives every result a message of its own.
            return self._result(blocks[0], 0, None if inferred else at)
        texts = [(number, block.text) for number, block in enumerate(blocks) if block.type == "text"]
        attached = [
            (number, block) for number, block in enumerate(blocks) if block.type in ("file", *IMAGE_KINDS)
        ]
        flags = ("time_inferred",) if inferred else ()
        found = []
        if texts or attached:
            found.append(self._prompt(message, key, at, texts, attached, flags))
        for number, block in enumerate(blocks):
            if block.type == "tool_result":
                found += self._result(block, number, None if inferred else at)
            elif block.type not in ("text", "file", *IMAGE_KINDS):
                found.append(self._unknown(raw, key, number, block, at, flags))
        return found

    def _prompt(
        self,
        message: wire.Wire,
        key: str,
        at: int | None,
        texts: list[tuple[int, str | None]],
        attached: list[tuple[int, wire.Block]],
        flags: tuple[str, ...],
    ) -> StepRow:
        """The text of a user message: a prompt that begins a turn, or what the runtime added."""
        raw_text = "\n".join(text or "" for _, text in texts)
        typed = prompt.read(raw_text, message.metadata)
        attachments = (*typed.attachments, *(self._attachment(block) for _, block in attached))
        first = texts[0][0] if texts else attached[0][0]
        if typed.runtime is not None:
            return self._row(
                key, first, at, Message("system", typed.text, attachments), typed.runtime, *flags
            )
        if "<user_input" in raw_text:
            self.state.importing = False
            if (message.metadata or {}).get("userRunSpan") == 0:
                flags = (*flags, "steered")
        if self.context.stem:
            if self.state.task is None:
                self.state.task = typed.text
        else:
            self.begin_turn(key, typed.mode, at)
        return self._row(key, first, at, Message("user", typed.text, attachments), *flags)

    def begin_turn(self, key: str, mode: str | None, at: int | None) -> None:
        last = self.state.last_at
        quiet = max(at - last, 0) if at is not None and last is not None else None
        turn = TurnRow(id=key, msg=self.state.msg, mode=mode, at=at, quiet=quiet)
        self.state.turn = turn
        self.turns[key] = turn

    def _attachment(self, block: wire.Block) -> Attachment:
        if block.type == "file":
            text = self._text_of(block.content)
            size = len(text.encode("utf-8", "replace")) if text is not None else None
            return Attachment(kind="file", name=block.path, size=size, text=text)
        data = self._text_of(block.data)
        size = results.decoded_size(data) if data is not None else None
        return Attachment(kind=block.type, name=block.path, size=size, media_type=block.mediaType)

    def _text_of(self, raw: wire.Usual | Raw) -> str | None:
        if not isinstance(raw, Raw):
            return raw if isinstance(raw, str) else None
        if not len(raw):
            return None
        try:
            value = wire.decode_any(raw)
        except wire.JSON_ERRORS:
            return bytes(raw).decode("utf-8", "replace")
        return value if isinstance(value, str) else None

    def _assistant(
        self, message: wire.Wire, raw: Raw, key: str, at: int | None, inferred: bool
    ) -> list[StepRow]:
        blocks = message.content
        assert isinstance(blocks, list)
        meta = message.metadata or {}
        hidden = meta.get("displayRole")
        flags = ("time_inferred",) if inferred else ()
        if hidden not in ("error", "status", "system"):
            self._reply(at)
        if message.metrics is not None:
            self._call(message, key, at, inferred)
        found = self._activities(meta.get("modelToolActivities"), key, at, flags)
        invalid = _invalid_calls(meta.get("invalidToolCalls"))
        for number, block in enumerate(blocks):
            if block.type == "tool_use":
                self._tool_use(block, number, key, at, invalid, flags)
            elif block.type in ("text", "thinking"):
                text = block.text if block.type == "text" else block.thinking
                if text and not text.isspace():
                    found.append(self._said(message.role, hidden, block.type, text, key, number, at, flags))
            elif block.type == "tool_result":
                found += self._result(block, number, at)
            else:
                found.append(self._unknown(raw, key, number, block, at, flags))
        return found

    def _said(
        self,
        role: str,
        hidden: Any,
        kind: str,
        text: str,
        key: str,
        number: int,
        at: int | None,
        flags: tuple[str, ...],
    ) -> StepRow:
        if hidden in ("error", "status", "system") or role not in ("assistant", "user"):
            flag = hidden if hidden in ("error", "status") else "runtime"
            return self._row(key, number, at, Message("system", text), flag, *flags)
        return self._row(
            key, number, at, Message("thinking" if kind == "thinking" else "assistant", text), *flags
        )

    def _reply(self, at: int | None) -> None:
        """Note the first reply of a turn: a checkpoint lies between the prompt and it."""
        turn = self.state.turn
        if turn is None or turn.first_reply_at is not None or at is None or self.context.stem:
            return
        turn = TurnRow(turn.id, turn.msg, turn.mode, turn.at, at, turn.quiet)
        self.state.turn = turn
        self.turns[turn.id] = turn

    def _call(self, message: wire.Wire, key: str, at: int | None, inferred: bool) -> None:
        net = self.state.importing and self.context.net_imports
        found = call(
            self.state,
            self.context.file,
            f"{self.conversation}:{key}",
            key,
            at,
            message.metrics or {},
            message.modelInfo,
            net=net,
        )
        if found is not None:
            if inferred:
                found = replace(found, flags=(*found.flags, "time_inferred"))
            self.calls.append(found)

    def _tool_use(
        self,
        block: wire.Block,
        number: int,
        key: str,
        at: int | None,
        invalid: dict[Any, Any],
        flags: tuple[str, ...],
    ) -> None:
        raw_id = block.id or f"{key}.{number}"
        pending = Pending(
            id=self.state.unique(raw_id),
            name=block.name or "unknown",
            input=bytes(block.input),
            msg=self.state.msg,
            block=number,
            at=at,
            turn_id=self.state.turn.id if self.state.turn else None,
            invalid=invalid.get(block.id) if block.id else None,
            flags=flags,
        )
        self.state.wait(raw_id, pending)

    def _result(self, block: wire.Block, number: int, at: int | None) -> list[StepRow]:
        pending = self.state.answered(block.tool_use_id or "")
        if pending is not None:
            return self.tools.finish(pending, block, at)
        return [self.tools.orphan(block, number, at)]

    def _activities(self, activities: Any, key: str, at: int | None, flags: tuple[str, ...]) -> list[StepRow]:
        """Tools that the provider ran itself; no block of the message stands for them."""
        if not isinstance(activities, list):
            return []
        return [
            self.tools.activity(entry, key, number, at, flags)
            for number, entry in enumerate(activities)
            if isinstance(entry, dict)
        ]

    def _blocks_of(self, raw: Raw) -> Any:
        """The content of a message as it was written; decoded once for all of its blocks."""
        if self._opened is None:
            whole = wire.any_value(bytes(raw))
            self._opened = (whole.get("content") if isinstance(whole, dict) else whole,)
        return self._opened[0]

    def _unknown(
        self, raw: Raw, key: str, number: int, block: wire.Block, at: int | None, flags: tuple[str, ...]
    ) -> StepRow:
        name = f"block:{block.type}"
        if block.type not in KNOWN_RAW:
            self.state.count(name)
        blocks = self._blocks_of(raw)
        content = blocks[number] if isinstance(blocks, list) and number < len(blocks) else blocks
        return self._row(key, number, at, Other(name, results.count_images(content)), *flags)


def _invalid_calls(value: Any) -> dict[Any, Any]:
    """By call id, what the model wrote where its arguments did not parse."""
    entries = value if isinstance(value, list) else []
    return {
        entry["toolCallId"]: entry.get("input")
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("toolCallId"), str)
    }
