"""From one tool call and its result to steps: one small function a tool (FORMAT.md section 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...schema.step import Command, ContentStatus, Edit, Other, Payload, Range, Read, StepRow, StepType
from . import patch, results, tools, wire
from .approval import Policy
from .pairing import pair
from .results import CallResult, ItemResult
from .state import Pending, State

BLOCK = 4096
"""Room between the positions of two blocks, for the items of a batched call."""
AGENT_TOOLS = ("spawn_agent", "team_run_task", "team_spawn_teammate", "team_task")
Paired = tuple[int | None, ItemResult | None, tuple[str, ...]]
"""The index of an item, its result, and flags; either of the first two may be missing."""
_TYPES: dict[type[Payload], StepType] = {
    Command: "command",
    Read: "read",
    Edit: "edit",
    Other: "other",
}


class Made(Struct, frozen=True, gc=False):
    """What one item gave, before the facts that all items of a call share are added."""

    payload: Payload
    result: ItemResult | None
    status: ContentStatus = "complete"
    flags: tuple[str, ...] = ()


class ToolSteps:
    """Builds the steps of tool calls for one conversation."""

    def __init__(self, qualify: Callable[[str], str], cwd: str | None, policy: Policy, state: State) -> None:
        self.qualify = qualify
        self.cwd = cwd
        self.policy = policy
        self.state = state
        self._readers: dict[str, Callable[[Any, CallResult | None], list[Made]]] = {
            "run_commands": self._commands,
            "read_files": self._reads,
            "editor": self._editor,
            "apply_patch": self._patch,
            "search_codebase": self._searches,
            "fetch_web_content": self._fetches,
        }

    def finish(self, call: Pending, block: wire.Block | None, at: int | None) -> list[StepRow]:
        """The steps of a call, with its result when there is one."""
        result = None
        if block is not None:
            result = results.read(block.content, block.is_error is True)
        value = self._input(call)
        reader = self._readers.get(call.name)
        made = reader(value, result) if reader else []
        made = made or [self._other(call.name, value, result)]
        return self._rows(call, made, at, block is not None, _task(call.name, value))

    def orphan(self, block: wire.Block, number: int, at: int | None) -> StepRow:
        """A result that no call of this conversation asked for."""
        result = results.read(block.content, block.is_error is True)
        name = block.name or "unknown"
        made = self._other(name, None, result)
        key = self.state.unique(block.tool_use_id or f"@{self.state.msg}.{number}")
        self.state.count("tool result without a call")
        call = Pending(
            key, name, b"", self.state.msg, number, at, self.state.turn.id if self.state.turn else None
        )
        made = replace(made, flags=(*made.flags, "result_without_call"))
        return self._rows(call, [made], None, True, None)[0]

    def activity(
        self, entry: dict[str, Any], key: str, number: int, at: int | None, inferred: tuple[str, ...]
    ) -> StepRow:
        """A tool that the provider ran, as Cline noted it in the message's metadata."""
        name = entry.get("toolName")
        call_id = entry.get("toolCallId")
        own = call_id if isinstance(call_id, str) else f"{key}.tool"
        raw = {"input": entry.get("input"), "result": results.count_images(entry.get("output"))}
        failed = entry.get("isError") is True
        text = results.as_text(entry.get("output")) if failed else ""
        item = ItemResult(None, None, not failed, text or None, "tool" if failed else None)
        turn = self.state.turn
        flags = ("provider_run",) if entry.get("execution") != "client" else ("client_run",)
        return StepRow(
            id=f"{self.qualify(self.state.unique(own))}#0",
            msg=self.state.msg,
            sub=min(number, BLOCK - 1),
            type="other",
            payload=Other(name if isinstance(name, str) else "unknown", raw),
            pointer=f"/messages/{self.state.msg}/metadata/modelToolActivities/{number}",
            at=at,
            turn_id=turn.id if turn else None,
            outcome="failed" if failed else "ok",
            error=results.step_error(item),
            flags=(*flags, *inferred),
        )

    def _rows(
        self, call: Pending, made: list[Made], at: int | None, finished: bool, spawns: str | None
    ) -> list[StepRow]:
        """One row an item; what all items of a call share is made once."""
        key = self.qualify(call.id)
        pointer = f"/messages/{call.msg}/content/{call.block}"
        importing = self.state.importing
        shared = (*call.flags, "imported") if importing else call.flags
        rows = []
        for index, item in enumerate(made):
            result = item.result
            error = results.step_error(result) if result is not None else None
            # What another tool ran, Cline's settings say nothing of: nobody knows who approved.
            decision, source = (
                ("n/a", None)
                if importing
                else self.policy.decide(call.name, error.kind if error else None, finished)
            )
            rows.append(
                StepRow(
                    id=f"{key}#{index}",
                    msg=call.msg,
                    sub=(call.block + 1) * BLOCK + min(index, BLOCK - 1),
                    type=_TYPES[type(item.payload)],
                    payload=item.payload,
                    pointer=pointer,
                    at=call.at,
                    ended_at=at,
                    turn_id=call.turn_id,
                    decision=decision,
                    decision_source=source,
                    outcome="unknown" if result is None else results.outcome(result),
                    content_status=item.status,
                    error=error,
                    flags=item.flags + shared,
                    spawns=spawns,
                )
            )
        return rows

    def _input(self, call: Pending) -> Any:
        if call.invalid is not None:
            return call.invalid
        if not call.input:
            return None
        return wire.any_value(call.input)

    def _other(self, name: str, value: Any, result: CallResult | None) -> Made:
        """Any tool without a reader of its own, and any call whose arguments cannot be read."""
        if result is None:
            return Made(Other(name, {"input": value}), None)
        raw = {"input": value, "result": results.count_images(_plain(result))}
        item = result.whole or (result.items[0] if result.items and len(result.items) == 1 else None)
        if item is None:
            failed = [entry for entry in result.items or () if not entry.ok]
            item = failed[0] if failed else _verdict(name, result.value)
        return Made(Other(name, raw), item)

    def _paired(self, queries: list[str], result: CallResult | None) -> list[Paired]:
        """Items beside their results: (item index, result, flags). One verdict over the call holds for each item."""
        if result is None or (result.items is None and result.whole is None):
            missing = None if result is None else ItemResult(None, result.value, True)
            return [(index, missing, ()) for index in range(len(queries))]
        if result.items is None:
            return [(index, result.whole, ()) for index in range(len(queries))]
        return [
            (index, found, ("paired_by_position",) if by_position else ())
            for index, found, by_position in pair(queries, result.items)
        ]

    def _commands(self, value: Any, result: CallResult | None) -> list[Made]:
        items = tools.commands(value)
        if not items:
            return []
        made = []
        for index, found, flags in self._paired([item.query for item in items], result):
            command = items[index].command if index is not None else (found.query if found else None) or ""
            if found is None:
                made.append(Made(Command(command, self.cwd), None, flags=flags))
                continue
            out = results.command_output(found)
            status: ContentStatus = "complete"
            if out.output_ref is not None or (found.ok and out.exit_code is None):
                status = "reference_only"
            elif out.truncated:
                status = "truncated"
            if found.error is None and out.exit_code:
                # Without an error of its own, the first line says what happened.
                found = replace(found, error=f"Command exited with code {out.exit_code}", kind="exit_code")
            if out.background_left:
                flags = (*flags, "background_left")
            payload = Command(command, self.cwd, out.stdout, out.exit_code, out.output_ref)
            made.append(Made(payload, found, status, flags))
        return made

    def _reads(self, value: Any, result: CallResult | None) -> list[Made]:
        items = tools.reads(value)
        made = []
        for index, found, flags in self._paired([item.query for item in items], result) if items else ():
            item = (
                items[index]
                if index is not None
                else tools.ReadItem("", (found.query if found else None) or "")
            )
            whole = item.start is None and item.end is None
            asked = None if whole else Range(item.start or 1, item.end)
            content, cut, raw = results.read_content(found.result) if found else (None, False, None)
            made.append(
                Made(
                    Read(item.path, asked, content or None, raw),
                    found,
                    "truncated" if cut else "complete",
                    flags,
                )
            )
        return made

    def _asked(self, tool: str, items: list[tools.AskItem], result: CallResult | None) -> list[Made]:
        made = []
        for index, found, flags in self._paired([item.query for item in items], result) if items else ():
            asked = items[index].input if index is not None else (found.query if found else None)
            raw: dict[str, Any] = {"input": asked}
            if found is not None:
                raw["result"] = results.count_images(found.result)
                if found.error is not None:
                    raw["error"] = found.error
            made.append(Made(Other(tool, raw), found, flags=flags))
        return made

    def _searches(self, value: Any, result: CallResult | None) -> list[Made]:
        return self._asked("search_codebase", tools.searches(value), result)

    def _fetches(self, value: Any, result: CallResult | None) -> list[Made]:
        return self._asked("fetch_web_content", tools.fetches(value), result)

    def _editor(self, value: Any, result: CallResult | None) -> list[Made]:
        if not isinstance(value, dict) or not isinstance(value.get("path"), str):
            return []
        if not isinstance(value.get("new_text"), str):
            return []
        path, new = value["path"], value["new_text"]
        old = value.get("old_text") if isinstance(value.get("old_text"), str) else None
        line = tools.line_number(value.get("insert_line"))
        found = _single(result)
        diff = results.diff_snippet(found.result) if found else None
        if line is not None:
            # Cline splits the text at line feeds and puts every piece in as a line, the empty last one too.
            edit = Edit(path, "insert", None, new, insert_line=line, diff=diff, added=new.count("\n") + 1)
        elif old is None:
            edit = Edit(path, "create", None, new, True, diff=diff, added=len(patch.lines_of(new)))
        else:
            added, removed = patch.changed_lines(old, new)
            edit = Edit(path, "replace", old, new, diff=diff, added=added, removed=removed)
        return [Made(edit, found)]

    def _patch(self, value: Any, result: CallResult | None) -> list[Made]:
        text = value.get("input", value.get("patch")) if isinstance(value, dict) else value
        if not isinstance(text, str):
            return []
        found = _single(result)
        sections = patch.sections(text)
        note = results.patch_note(found.result, [section.path for section in sections]) if found else None
        made = []
        for section in sections:
            full = section.operation == "create"
            edit = Edit(
                section.path,
                section.operation,
                new_string=section.content if full else None,
                is_full_write=full,
                hunks=None if full else section.body or None,
                move_to=section.move_to,
                added=section.added,
                removed=section.removed,
                note=note,
            )
            made.append(Made(edit, found))
        return made


def _single(result: CallResult | None) -> ItemResult | None:
    """The one verdict of a tool that does one thing."""
    if result is None:
        return None
    if result.whole is not None:
        return result.whole
    if result.items:
        return result.items[0]
    return ItemResult(None, result.value, True)


def _plain(result: CallResult) -> Any:
    """A result as it was, for tools that are kept raw."""
    if result.items is None:
        return result.value
    shown = [
        {
            "query": item.query,
            "result": item.result,
            "success": item.ok,
            **({} if item.error is None else {"error": item.error}),
        }
        for item in result.items
    ]
    return shown[0] if len(shown) == 1 else shown


def _verdict(name: str, value: Any) -> ItemResult:
    """Whether a plain value tells of a failure that Cline's own marks do not."""
    if results.mcp_failed(value):
        texts = [
            part["text"]
            for part in (value["content"] if isinstance(value["content"], list) else [])
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        return ItemResult(None, None, False, "\n".join(texts), "mcp")
    if name == "spawn_agent" and isinstance(value, dict) and value.get("finishReason") == "error":
        return ItemResult(None, None, False, results.as_text(value.get("text", "")), "tool")
    return ItemResult(None, None, True)


def _task(name: str, value: Any) -> str | None:
    """The task that a call gives to another agent; empty for one that starts an agent without saying it."""
    if name not in AGENT_TOOLS or not isinstance(value, dict):
        return None
    task = value.get("task")
    if isinstance(task, str):
        return task
    return "" if name == "spawn_agent" else None
