"""The results of tool calls: what came back, whether it failed, and why (FORMAT.md section 5)."""

from __future__ import annotations

import base64
import re
from typing import Any

from msgspec import Raw, Struct

from ...schema.step import ErrorKind, Outcome, StepError
from . import wire

_exit_line = re.compile(r"\[Command exited with code (-?\d+)\]\n?")
_exit_error = re.compile(r"Command exited with code (-?\d+)\s*$")
_still_running = re.compile(r"\[Command is still running\. Output will continue in (.+?)\]\n?")
_proceeded = re.compile(
    r"(?:The user chose to proceed while the command is starting or still running in their terminal\."
    r"|The command was still starting or running after \d+ seconds)"
)
_redirected = re.compile(r"redirected to this file, which you can read to check progress: (\S[^\n]*)")
_so_far = re.compile(r"Output so far:\n?")
_fence = re.compile(r"```diff\n(.*?)\n?```", re.DOTALL)

BACKGROUND_LEFT = (
    "[Command completed with background processes still running; their output is no longer captured]"
)
DENIALS = (
    "This tool call was rejected by the user",
    "User denied the tool execution",
    "The user denied this edit",
)
_truncated = re.compile(r"\[\.\.\. output truncated: \d+ chars total\. Refine the command")
_TRUNCATED = "[... output truncated: "
READ_CUT = "[Showing lines "
LINE_CUT = " [line truncated]"


class ItemResult(Struct, frozen=True, gc=False):
    """What came of one item: Cline's text and its verdict. `query` is null in results that echo none."""

    query: str | None
    result: Any
    ok: bool
    error: str | None = None
    kind: ErrorKind | None = None


class CallResult(Struct):
    """A tool_result block, taken apart.

    `items` for tools that echo a query; `whole` for one verdict over the whole call (a denial, a thrown error);
    `value` for everything else, parsed where it was JSON.
    """

    items: list[ItemResult] | None = None
    whole: ItemResult | None = None
    value: Any = None


def read(content: wire.Usual | Raw, is_error: bool) -> CallResult:
    """Take a result block's content apart. Never raises: what does not parse is a plain value."""
    items = content if isinstance(content, list) else None
    if isinstance(content, Raw) and not is_error:
        items = wire.decode_items(content)
    if items is not None:
        return CallResult(items=[_item(item) for item in items])
    value: Any = wire.any_value(bytes(content)) if isinstance(content, Raw) else content
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, list):
        listed = [_item_of(entry) for entry in value]
        if value and all(entry is not None for entry in listed):
            return CallResult(items=[entry for entry in listed if entry is not None])
    if isinstance(value, dict):
        item = _item_of(value)
        if item is not None:
            return CallResult(items=[item])
        if is_error and "error" in value:
            return CallResult(whole=_whole(value["error"]), value=value)
    return CallResult(value=value, whole=_whole(value) if is_error else None)


def _parsed(text: str) -> Any:
    """A plain result, parsed where the whole of it is a JSON object or array."""
    if not text or text[0] not in "{[":
        return text
    value = wire.any_value(text.encode("utf-8", "surrogatepass"))
    return value if isinstance(value, dict | list) else text


def _item(item: wire.Item) -> ItemResult:
    error = None if item.error is None else as_text(item.error)
    ok = item.success is not False and error is None
    return ItemResult(item.query, item.result, ok, error, None if ok else classify(error or ""))


def _item_of(value: Any) -> ItemResult | None:
    """A parsed `{query, result, success, error?}`, or null where the value is something else."""
    if not isinstance(value, dict) or not isinstance(value.get("query"), str) or "success" not in value:
        return None
    return _item(
        wire.Item(value["query"], value.get("result"), value["success"] is not False, value.get("error"))
    )


def _whole(error: Any) -> ItemResult:
    message = as_text(error) if error is not None else ""
    return ItemResult(None, None, False, message, classify(message))


def as_text(value: Any) -> str:
    """A value as text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else wire.encode(value).decode()


def classify(message: str) -> ErrorKind:
    """Backstory's word for an error, from Cline's message."""
    if message.startswith(DENIALS):
        return "denied"
    if "requires approval in a TTY session" in message or "is disabled by policy" in message:
        return "blocked"
    if "was blocked by a runtime hook" in message:
        return "blocked"
    if _exit_error.match(message):
        return "exit_code"
    if "timed out after" in message:
        return "timeout"
    if "was aborted" in message:
        return "aborted"
    if message.startswith(("✖", "Invalid input")) or "invalid JSON arguments" in message:
        return "invalid_input"
    if "AI_NoSuchToolError" in message:
        return "invalid_input"
    if "ENOENT" in message or "File not found" in message or "Executable not found" in message:
        return "not_found"
    return "tool"


def step_error(item: ItemResult) -> StepError | None:
    """The error of a failed item, with what the user typed when denying it; null for one that is ok."""
    if item.ok:
        return None
    message = item.error or ""
    return StepError(message, item.kind or classify(message), feedback=_feedback(message))


def _feedback(message: str) -> str | None:
    """What the user typed when denying a call."""
    opening, close = "<feedback>", "</feedback>"
    begin = message.find(opening)
    end = message.find(close, begin) if begin >= 0 else -1
    return message[begin + len(opening) : end].strip() or None if end >= 0 else None


def mcp_failed(value: Any) -> bool:
    """Whether an MCP result says that the tool failed; Cline sets no error mark for it."""
    return isinstance(value, dict) and value.get("isError") is True and "content" in value


class CommandOutput(Struct, frozen=True, gc=False):
    """A command's output with Cline's own lines taken off it."""

    stdout: str | None
    exit_code: int | None
    output_ref: str | None = None
    truncated: bool = False
    background_left: bool = False


def command_output(item: ItemResult) -> CommandOutput:
    """Read an item of `run_commands`. Only a failed item has an exit code other than 0, and only in its first line."""
    text = item.result if isinstance(item.result, str) else None
    if item.result is not None and text is None:
        text = as_text(item.result)
    if item.ok:
        running = _running(text or "")
        if running is not None:
            return running
        left = text is not None and text.endswith(BACKGROUND_LEFT)
        return CommandOutput(text, 0, None, _cut(text), left)
    code = None
    if text:
        first = _exit_line.match(text)
        if first:
            code, text = _int(first[1]), text[first.end() :]
    if code is None and item.error:
        named = _exit_error.match(item.error)
        code = _int(named[1]) if named else None
    return CommandOutput(text or None, code, None, _cut(text))


def _int(digits: str) -> int | None:
    return int(digits) if len(digits) < 12 else None


def _cut(text: str | None) -> bool:
    return text is not None and _TRUNCATED in text and _truncated.search(text) is not None


def _running(text: str) -> CommandOutput | None:
    """A command that went on in the background: where its output goes, and what there was so far."""
    first = _still_running.match(text)
    if first:
        return CommandOutput(text[first.end() :] or None, None, first[1])
    if not _proceeded.match(text):
        return None
    where = _redirected.search(text)
    so_far = _so_far.search(text)
    rest = text[so_far.end() :] if so_far else None
    return CommandOutput(rest or None, None, where[1].strip() if where else None)


def diff_snippet(result: Any) -> str | None:
    """The diff that Cline shows after an edit, without its fence."""
    if not isinstance(result, str):
        return None
    found = _fence.search(result)
    return found[1] if found else None


def read_content(result: Any) -> tuple[str | None, bool, Any]:
    """What the agent saw of a file: (text, cut by Cline, raw where it is no text, image bytes counted)."""
    if isinstance(result, str):
        cut = result.endswith("]") and "\n" + READ_CUT in result[-200:]
        return result, cut or LINE_CUT in result, None
    if result is None:
        return None, False, None
    texts = [
        part["text"]
        for part in (result if isinstance(result, list) else [])
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    return "\n".join(texts) or None, False, count_images(result)


def count_images(value: Any) -> Any:
    """The same value with the base64 data of images replaced by their size in bytes."""
    if isinstance(value, list):
        return [count_images(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in ("image", "media") and isinstance(value.get("data"), str):
        kept = {key: count_images(entry) for key, entry in value.items() if key != "data"}
        return {**kept, "bytes": decoded_size(value["data"])}
    return {key: count_images(entry) for key, entry in value.items()}


def decoded_size(data: str) -> int:
    """The bytes that a base64 text stands for."""
    try:
        return len(base64.b64decode(data, validate=False))
    except ValueError:
        return len(data) * 3 // 4


def outcome(item: ItemResult) -> Outcome:
    return "ok" if item.ok else "failed"


def patch_note(result: Any, paths: list[str]) -> str | None:
    """What Cline says of a patch beside the list of its files, such as hunks that were applied with fuzz."""
    if not isinstance(result, str):
        return None
    lines = [line for line in result.split("\n")[1:] if line.strip()]
    return "\n".join(line for line in lines if not line.startswith(tuple(paths))) or None
