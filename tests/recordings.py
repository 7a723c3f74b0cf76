"""The recordings as acceptance cases: where they lie, and a record drawn as lines to compare with them.

`recordings/<scenario>/expected.txt` holds the lines of each session of the scenario. They are written by hand
from Cline's own files and the rules in the docs; they are never made from what the program says.

A session is drawn as `session`, its facts (indented), `actor`, `segment`, `turn` lines, the steps in reading
order, and `call` lines. A step reads `segment.turn id type outcome decision/source time..end payload`. Times
are UTC. What holds nearly everywhere is left out: `cwd` of a command that is the session's, `content_status`
complete, channel `messages`. Texts are cut at `CUT` characters; `…+N` counts the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"
EXPECTED = "expected.txt"
CUT = 80


def scenarios() -> list[str]:
    """Names of the recordings that hold sessions."""
    return sorted(folder.parent.name for folder in RECORDINGS.glob("*/sessions"))


def sessions(scenario: str) -> list[str]:
    """Ids of the sessions of a scenario."""
    return sorted(folder.name for folder in (RECORDINGS / scenario / "sessions").iterdir())


def session_path(scenario: str, session: str) -> Path:
    """The folder in which Cline keeps a session."""
    return RECORDINGS / scenario / "sessions" / session


def expected(scenario: str) -> dict[str, list[str]]:
    """The expected lines of each session of a scenario."""
    found: dict[str, list[str]] = {}
    own: list[str] = []
    for line in (RECORDINGS / scenario / EXPECTED).read_text(encoding="utf-8").split("\n"):
        if line.startswith("session "):
            own = found.setdefault(line.split(" ")[1], [])
        if line:
            own.append(line)
    return found


def lines(record: dict[str, Any]) -> list[str]:
    """Draw the document of `record_json`."""
    session = record["session"]
    turns = {turn["id"]: turn["index"] for turn in record["turns"]}
    return [
        *_session(session),
        *(_actor(actor) for actor in record["actors"]),
        *(_segment(segment) for segment in record["segments"]),
        *(_turn(turn) for turn in record["turns"]),
        *(_step(step, session, turns) for step in record["steps"]),
        *(_call(call) for call in sorted(record["calls"], key=_call_order)),
    ]


def _session(session: dict[str, Any]) -> Iterable[str]:
    agent = session["agent"]
    yield _words(
        f"session {session['id']} {session['status']}",
        _pair("exit", session["exit_code"]),
        _pair("started", session["started_at"]),
        _pair("ended", session["ended_at"]),
        _pair("updated", session["updated_at"]),
        _pair("marker", session["terminal_marker"]),
    )
    yield _words(
        f"  agent={agent['kind']}/{_or_dash(agent['version'])}/{_or_dash(agent['format_version'])}",
        f"surface={_or_dash(session['surface'])} origin={_or_dash(session['origin_mode'])}",
        f"interactive={_or_dash(session['interactive'])}",
        f"model={_or_dash(session['provider'])}/{_or_dash(session['model'])}",
    )
    yield (
        f"  project={_or_dash(session['project'])} cwd={_or_dash(session['cwd'])}"
        f" root={_or_dash(session['workspace_root'])} branch={_or_dash(session['branch'])}"
    )
    yield f"  title={_text(session['title'])} prompt={_text(session['prompt'])}"
    yield from _origins(session)


def _origins(session: dict[str, Any]) -> Iterable[str]:
    for point in session["checkpoints"]:
        yield f"  checkpoint {_checkpoint(point)} {point['created_at']}"
    if copied := session["copied_from"]:
        yield f"  copied {copied['kind']} {copied['session_id']} messages={copied['messages']}"
    if imported := session["imported"]:
        yield f"  imported {imported['tool']} {imported['session_id']} {imported['at']}"
    if made := session["compaction"]:
        summary = "with" if made["summary"] else "without"
        yield (
            f"  compaction of {made['source_messages']} messages, {made['kept_messages']} kept,"
            f" {summary} summary, {made['updated_at']}"
        )
    fidelity = session["fidelity"]
    if not fidelity["whole"] or fidelity["unknown"] or fidelity["refused"] or fidelity["salvaged"]:
        yield f"  fidelity {_json(fidelity)}"


def _actor(actor: dict[str, Any]) -> str:
    return _words(
        f"actor {actor['id']} {actor['type']}",
        _pair("label", actor["label"] if actor["type"] == "teammate" else None),
        _pair("parent", actor["parent_step_id"]),
        f"task={_text(actor['task'])}" if actor["task"] else "",
        f"file={actor['file']}",
    )


def _segment(segment: dict[str, Any]) -> str:
    return _words(
        f"segment {segment['index']} {segment['start_reason']}",
        _pair("by", segment["inferred_from"]),
        _span(segment["started_at"], segment["ended_at"]),
    )


def _turn(turn: dict[str, Any]) -> str:
    point = turn["checkpoint"]
    return _words(
        f"turn {turn['index']} {turn['id']} mode={_or_dash(turn['mode'])} segment={turn['segment_index']}",
        f"{_clock(turn['started_at'])} steps={len(turn['step_ids'])}",
        f"checkpoint={_checkpoint(point)}" if point else "",
    )


def _step(step: dict[str, Any], session: dict[str, Any], turns: dict[str, int]) -> str:
    source = step["decision_source"]
    error = step["error"]
    status = step["content_status"]
    return _words(
        f"{step['segment_index']}.{_or_dash(turns.get(step['turn_id']))} {step['id']}",
        "" if _named_by_id(step) else f"by={step['actor_id']}",
        f"{step['type']} {step['outcome']} {step['decision']}" + (f"/{source}" if source else ""),
        _span(step["at"], step["ended_at"]),
        *PAYLOADS[step["type"]](step["payload"], session),
        f"error={error['kind']} {_text(error['message'])}" if error else "",
        f"feedback={_text(error['feedback'])}" if error and error.get("feedback") else "",
        f"content={status}" if status != "complete" else "",
        f"flags={','.join(step['flags'])}" if step["flags"] else "",
        f"channels={','.join(step['channels'])}" if list(step["channels"]) != ["messages"] else "",
        "superseded" if step["superseded"] else "",
    )


def _named_by_id(step: dict[str, Any]) -> bool:
    stem, slash, _ = step["id"].partition("/")
    return bool(step["actor_id"] == (stem if slash else "root"))


def _message(payload: dict[str, Any], session: dict[str, Any]) -> Iterable[str]:
    yield f"{payload['role']} {_text(payload['text'])}"
    for item in payload.get("attachments") or ():
        yield f"+{item['kind']}:{_or_dash(item.get('name'))}({_text((item.get('text') or '').strip())})"


def _command(payload: dict[str, Any], session: dict[str, Any]) -> Iterable[str]:
    yield f"{_text(payload['command'])} exit={_or_dash(payload['exit_code'])}"
    if payload["cwd"] != session["cwd"]:
        yield f"cwd={_or_dash(payload['cwd'])}"
    if payload["stdout"]:
        yield f"out={_text(payload['stdout'])}"
    yield _pair("log", payload["output_ref"])


def _read(payload: dict[str, Any], session: dict[str, Any]) -> Iterable[str]:
    yield payload["path"]
    if part := payload["range"]:
        yield f"lines={part['start']}-{'end' if part['end'] is None else part['end']}"
    if payload["content"]:
        yield f"saw={_text(payload['content'])}"


def _edit(payload: dict[str, Any], session: dict[str, Any]) -> Iterable[str]:
    yield f"{payload['operation']} {payload['path']}"
    yield "full" if payload["is_full_write"] else ""
    yield _pair("to", payload["move_to"])
    yield _pair("line", payload["insert_line"])
    for name, key in (("old", "old_string"), ("new", "new_string")):
        if payload[key] is not None:
            yield f"{name}={_text(payload[key])}"
    for key in ("hunks", "diff"):
        if payload[key]:
            yield f"{key}={_text(payload[key].strip(chr(10)))}"
    yield f"+{payload['added']} -{payload['removed']}"


def _other(payload: dict[str, Any], session: dict[str, Any]) -> Iterable[str]:
    raw = payload["raw"]
    yield payload["tool_name"]
    if not isinstance(raw, dict):
        yield f"raw={_json(raw)}"
        return
    yield f"in={_json(raw['input'])}" if "input" in raw else ""
    yield f"out={_json(raw['result'])}" if raw.get("result") else ""


PAYLOADS = {"message": _message, "command": _command, "read": _read, "edit": _edit, "other": _other}


def _call_order(call: dict[str, Any]) -> tuple[str, str]:
    return call["at"] or "", call["key"]


def _call(call: dict[str, Any]) -> str:
    tokens = call["tokens"]
    cost = call["reported_usd"]
    return (
        f"call {call['key']} fresh={tokens['fresh']} read={tokens['cache_read']}"
        f" write={tokens['cache_write']} out={tokens['output']}"
        f" cost={'-' if cost is None else format(cost, '.9f')}"
        f" {_or_dash(call['route'])}/{_or_dash(call['model'])} {_clock(call['at'])}"
    )


def _checkpoint(point: dict[str, Any]) -> str:
    return f"{point['ref'][:10]}/{_or_dash(point['kind'])}/{_or_dash(point['run_count'])}"


def _words(*words: str) -> str:
    return " ".join(word for word in words if word)


def _pair(name: str, value: object) -> str:
    return "" if value is None else f"{name}={value}"


def _or_dash(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


def _clock(moment: str | None) -> str:
    return moment[11:23] if moment else "-"


def _span(start: str | None, end: str | None) -> str:
    return f"{_clock(start)}..{_clock(end)}" if end else _clock(start)


def _text(text: str | None) -> str:
    if text is None:
        return "-"
    return _cut(text, json.dumps(text[:CUT], ensure_ascii=False))


def _json(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    whole = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return _cut(whole, whole[:CUT])


def _cut(whole: str, shown: str) -> str:
    visible = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in shown)
    return f"{visible}…+{len(whole) - CUT}" if len(whole) > CUT else visible
