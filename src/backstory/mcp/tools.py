"""The tools as an agent sees them: their names, when to call them, and what they take."""

from __future__ import annotations

from typing import Any

TOKENS = 1_500
"""What a result may take unless `max_tokens` says otherwise."""
FEWEST_TOKENS, MOST_TOKENS = 200, 20_000
HITS, MOST_HITS = 5, 20

Tool = dict[str, Any]


def _text(words: str, longest: int | None = 200) -> dict[str, Any]:
    own = {"type": "string", "minLength": 1, "description": words}
    return own if longest is None else {**own, "maxLength": longest}


def _whole(words: str, least: int, most: int, default: int | None = None) -> dict[str, Any]:
    own = {"type": "integer", "minimum": least, "maximum": most, "description": words}
    return own if default is None else {**own, "default": default}


_MAX_TOKENS = _whole("Longest result, in tokens.", FEWEST_TOKENS, MOST_TOKENS, TOKENS)
_SINCE = _text("Only what is newer: 2026-11-24, an ISO time, today, yesterday, 12h, 7d or 2w.", 40)
_SOURCE = _text("As cited: conversation/<id> or fact/<number>.", 300)


def _tool(
    name: str,
    words: str,
    properties: dict[str, Any],
    required: tuple[str, ...] = (),
    **hints: bool,
) -> Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    annotations = {"readOnlyHint": True, "openWorldHint": False, **hints}
    return {"name": name, "description": words, "inputSchema": schema, "annotations": annotations}


def tools() -> list[Tool]:
    """All tools, the most useful first."""
    return [_recall(), _open(), _recent(), _remember(), _forget(), _usage()]


def _recall() -> Tool:
    return _tool(
        "recall",
        "Search what was said and solved in past conversations on this machine. Call it: at the start of a task,"
        " with what the task is about; when an error appears that you have not seen in this conversation, with the"
        " error's text (an earlier failure comes with what made it pass); when the user says"
        ' "as before", "like last time" or "we decided". The words are searched for as they are: give names,'
        " identifiers and error text, not a question about them.",
        {
            "query": _text(
                "The words to look for, or an error's text; of a long one its beginning and its end.", None
            ),
            "project": _text(
                'Only this project, by its folder\'s name, or "*" for all. Left out: all, the one at hand first.'
            ),
            "limit": _whole("How many passages.", 1, MOST_HITS, HITS),
            "since": _SINCE,
            "max_tokens": _MAX_TOKENS,
        },
        ("query",),
    )


def _open() -> Tool:
    return _tool(
        "open",
        "Read one passage that recall or recent cited, at more length and with the exchanges around it. Call it"
        " when a cited passage was cut, or when you need what came before or after it.",
        {
            "source": _SOURCE,
            "position": _whole("The cited position. Left out: the first.", 1, 1_000_000),
            "around": _whole("How many exchanges before and after.", 0, 5, 1),
            "max_tokens": _MAX_TOKENS,
        },
        ("source",),
    )


def _recent() -> Tool:
    return _tool(
        "recent",
        "The newest exchanges of a project. Call it when the user wants to go on with earlier work, or asks what"
        " was done lately or where things stand.",
        {
            "project": _text('A folder\'s name, or "*" for all projects. Left out: the project at hand.'),
            "limit": _whole("How many exchanges.", 1, MOST_HITS, HITS),
            "since": _SINCE,
            "max_tokens": _MAX_TOKENS,
        },
    )


def _remember() -> Tool:
    return _tool(
        "remember",
        "Keep one fact for later conversations. Call it when the user asks to remember something, or states a"
        " lasting decision, rule or preference. Not for secrets, guesses, or a summary of this conversation: what was"
        " said and done is learned from the record anyway.",
        {
            "text": _text("The fact in one or two sentences that stand by themselves.", 20_000),
            "project": _text("The project that it belongs to. Left out: it holds everywhere."),
        },
        ("text",),
        readOnlyHint=False,
        destructiveHint=False,
        idempotentHint=True,
    )


def _forget() -> Tool:
    return _tool(
        "forget",
        "Remove one fact or one exchange from the memory for good. Call it only when the user asks to forget"
        " exactly that. It takes a source as cited, never a search.",
        {"source": _SOURCE, "position": _whole("The cited position, for a conversation.", 1, 1_000_000)},
        ("source",),
        readOnlyHint=False,
        destructiveHint=True,
        idempotentHint=False,
    )


def _usage() -> Tool:
    return _tool(
        "usage",
        "What a project or a session has cost, in money and tokens. Call it when the user asks about cost, tokens or"
        " a budget.",
        {
            "project": _text(
                'A folder\'s name or whole path, or "*" for all. Left out: the project at hand.'
            ),
            "session": _text('A session\'s id or short id, or "last", in place of a project.', 300),
            "since": _SINCE,
        },
    )
