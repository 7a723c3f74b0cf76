"""Cline as a client: where its settings, rules and sessions are, and which entries it can read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from ..sources.cline import paths
from . import rule
from .entry import LAUNCHER
from .jsontext import Value
from .table import Client, Inside


def _rule(env: Mapping[str, str], platform: str) -> paths.Resolved:
    windows = platform == "win32"
    folder = paths.rules_dir(env, windows=windows)
    return paths.Resolved(paths.join(folder.path, rule.FILE, windows=windows), folder.rule)


def _old_rules(env: Mapping[str, str], platform: str) -> list[str]:
    windows = platform == "win32"
    return [paths.join(paths.old_rules_dir(env, windows=windows), rule.FILE, windows=windows)]


def _installed(env: Mapping[str, str], platform: str) -> list[tuple[str, str]]:
    windows = platform == "win32"
    own = [paths.cline_dir(env, windows=windows), paths.data_dir(env, windows=windows)]
    storage = [(place, "extension storage") for place in paths.extension_storage(env, platform)]
    return [*((place.path, place.rule) for place in own), *storage]


def client() -> Client:
    """Cline's row of the table."""
    return Client(
        name="cline",
        title="Cline",
        variables=("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_MCP_SETTINGS_PATH"),
        settings=lambda env, platform: paths.mcp_settings(env, windows=platform == "win32"),
        rule=_rule,
        store=lambda env, platform: paths.sessions_dir(env, windows=platform == "win32"),
        installed=_installed,
        old_settings=paths.old_mcp_settings,
        old_rules=_old_rules,
        problem=problem,
        inside=Inside(
            variable="CLINE_DIR",
            folder=".cline",
            launcher=LAUNCHER,
            settings="data/settings/cline_mcp_settings.json",
            rule=f"rules/{rule.FILE}",
            store="data/sessions",
        ),
    )


# What follows is the schema of Cline's `config-loader.ts`: an entry is read in the first of three forms that fits it.
# One entry that fits none of them costs all servers, without a word.

Check = Callable[[Value], bool]
TYPES = ("stdio", "sse", "streamableHttp")


def problem(entry: Value) -> str | None:
    """Why Cline cannot read an entry, as an end of a sentence; null where it can."""
    if not isinstance(entry, dict):
        return "is no object"
    forms = [_nested(entry), _stdio(entry), _url(entry)]
    if None in forms:
        return None
    if isinstance(entry.get("transport"), dict):
        return forms[0]
    return forms[1] if "command" in entry or "url" not in entry else forms[2]


def _nested(entry: Mapping[str, Value]) -> str | None:
    transport = entry.get("transport")
    if not isinstance(transport, dict):
        return 'has no "transport" that is an object'
    if transport.get("type") not in TYPES:
        return f'has "transport" whose "type" is none of {", ".join(TYPES)}'
    form = _STDIO if transport["type"] == "stdio" else _URL
    return _first(transport, form) or _first(entry, _COMMON)


def _stdio(entry: Mapping[str, Value]) -> str | None:
    if "command" not in entry:
        return 'has neither "command" nor "url"'
    kind = entry.get("type") or entry.get("transportType")
    if kind not in (None, "stdio"):
        return 'has "command", and a "type" that is not stdio'
    return _first(entry, _STDIO) or _first(entry, (*_COMMON, *_KINDS))


def _url(entry: Mapping[str, Value]) -> str | None:
    kind = entry.get("type") or entry.get("transportType")
    if kind == "stdio":
        return 'has "url", and a "type" of stdio'
    return _first(entry, _URL) or _first(entry, (*_COMMON, *_KINDS))


def _first(entry: Mapping[str, Value], form: Iterable[tuple[str, bool, Check, str]]) -> str | None:
    for key, needed, check, words in form:
        if (key in entry or needed) and not check(entry.get(key)):
            return f'has "{key}" that is {words}' if key in entry else f'has no "{key}"'
    return None


def _text(found: Value) -> bool:
    return isinstance(found, str) and found != ""


def _texts(found: Value) -> bool:
    return isinstance(found, list) and all(isinstance(item, str) for item in found)


def _record(found: Value) -> bool:
    return isinstance(found, dict)


def _record_of_texts(found: Value) -> bool:
    return isinstance(found, dict) and all(isinstance(item, str) for item in found.values())


def _address(found: Value) -> bool:
    """What `new URL` takes, as far as it can be told in a line: a scheme, and for the web a host."""
    if not isinstance(found, str):
        return False
    scheme = re.match(r"\s*([A-Za-z][A-Za-z0-9+.-]*):(.*)", found, re.DOTALL)
    if scheme is None:
        return False
    web = scheme[1].lower() in ("http", "https", "ws", "wss", "ftp")
    return not web or bool(scheme[2].strip().strip("/\\").split("?")[0].split("#")[0])


def _client(found: Value) -> bool:
    if not isinstance(found, dict) or not _text(found.get("clientId")):
        return False
    return "clientSecret" not in found or _text(found["clientSecret"])


def _sign_in(found: Value) -> bool:
    if not isinstance(found, dict):
        return False
    kinds: dict[str, Check] = {
        "clientInformation": _record,
        "tokens": _record,
        "codeVerifier": lambda one: isinstance(one, str),
        "discoveryState": _record,
        "redirectUrl": _address,
        "lastError": lambda one: isinstance(one, str),
        "lastAuthenticatedAt": lambda one: isinstance(one, float) and one > 0 and one.is_integer(),
        "authorizationRequired": lambda one: isinstance(one, bool),
    }
    return all(kinds[key](own) for key, own in found.items() if key in kinds)


_STDIO: tuple[tuple[str, bool, Check, str], ...] = (
    ("command", True, _text, "no text"),
    ("args", False, _texts, "no list of texts"),
    ("cwd", False, _text, "no text"),
    ("env", False, _record_of_texts, "no object of texts"),
)
_URL: tuple[tuple[str, bool, Check, str], ...] = (
    ("url", True, _address, "no address"),
    ("headers", False, _record_of_texts, "no object of texts"),
)
_COMMON: tuple[tuple[str, bool, Check, str], ...] = (
    ("disabled", False, lambda found: isinstance(found, bool), "neither true nor false"),
    ("metadata", False, _record, "no object"),
    ("oauthClient", False, _client, "no client id"),
    ("oauth", False, _sign_in, "no sign-in that Cline wrote"),
)
_KINDS: tuple[tuple[str, bool, Check, str], ...] = (
    ("type", False, lambda found: found in TYPES, f"none of {', '.join(TYPES)}"),
    ("transportType", False, lambda found: found in (*TYPES, "http"), "none that Cline knows"),
)
