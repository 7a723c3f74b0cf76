"""For any settings without an entry of ours: setup and disconnect give the same bytes back, or setup refuses."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from connected import Place
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backstory.clients import disconnect, setup
from backstory.clients import settings as texts
from backstory.clients.jsontext import NotJson, parse, value
from backstory.errors import ClientError

KEYS = st.sampled_from(
    ["mcpServers", "backstory", "a", "", "__proto__", "command", "é", "\ud83d", "10", "Backstory"]
) | st.text(max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
FOREIGN = st.fixed_dictionaries({"command": st.just("node"), "args": st.just(["server.js"])})
SERVERS = st.dictionaries(KEYS, FOREIGN | VALUES, max_size=4)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=3).flatmap(
    lambda base: st.permutations([*base.items()]).map(dict)
) | st.tuples(
    st.dictionaries(KEYS, VALUES, max_size=2), SERVERS, st.dictionaries(KEYS, VALUES, max_size=2)
).map(lambda parts: {**parts[0], "mcpServers": parts[1], **parts[2]})
BLANKS = st.text(" \t\r\n", max_size=3)


@st.composite
def pretty(draw: st.DrawFn) -> bytes:
    """A document as a program or a careful person writes it."""
    text = json.dumps(
        draw(DOCUMENTS),
        indent=draw(st.sampled_from([None, 0, 1, 2, 4, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": "), (" , ", " : ")])),
    )
    text = draw(st.sampled_from(["", "\n", "\r\n\r\n"])).join([text, ""])
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text.encode("utf-8", "surrogatepass")


@st.composite
def loose(draw: st.DrawFn) -> bytes:
    """A document with blanks in odd places, and names that occur twice."""

    def write(found: Any) -> str:
        if isinstance(found, dict):
            members = [
                f"{json.dumps(key)}{draw(BLANKS)}:{draw(BLANKS)}{write(one)}" for key, one in found.items()
            ]
            if members and draw(st.booleans()):
                members.insert(0, members[-1])
            return "{" + draw(BLANKS) + f"{draw(BLANKS)},{draw(BLANKS)}".join(members) + draw(BLANKS) + "}"
        if isinstance(found, list):
            return "[" + ",".join(draw(BLANKS) + write(one) + draw(BLANKS) for one in found) + "]"
        return json.dumps(found)

    return (draw(BLANKS) + write(draw(DOCUMENTS)) + draw(BLANKS)).encode()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A document with something cut out of it or put into it, comments and marks included."""
    text = draw(pretty())
    at = draw(st.integers(0, len(text)))
    upto = draw(st.integers(at, min(at + 3, len(text))))
    put = draw(
        st.sampled_from([b"", b"//x\n", b"/**/", b",", b"\x00", b"\xff", b"\xef\xbb\xbf", b"NaN", b"'"])
    )
    return text[:at] + put + text[upto:]


TEXTS = pretty() | loose() | damaged() | st.binary(max_size=12) | DOCUMENTS.map(repr).map(str.encode)
DEEP = b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b', "mcpServers": {"x": {"command": "y", "metadata": {}}}}'


def in_a_home(text: bytes | None, work: Callable[[Place], None]) -> None:
    """Run with a throw-away home whose settings hold that text."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), Path("/opt/backstory/bin/backstory"))
        (place.home / ".cline").mkdir()
        if text is not None:
            place.write(text)
        work(place)


@settings(max_examples=250, deadline=None)
@given(st.none() | TEXTS)
@example(DEEP)
@example(b"")
@example(b"{}")
@example(b'{"mcpServers":{ }}')
@example(b'{"mcpServers": {"a": {}}, "mcpServers": {\n}}')
@example(b'{"x":{"mcpServers":{}}}')
def test_setup_then_disconnect_gives_the_same_files_back(text: bytes | None) -> None:
    def check(place: Place) -> None:
        before = place.files()
        try:
            done = setup.setup(place.client, place.here())
        except ClientError:
            assert place.files() == before
            return
        assert done.settings is not None
        assert json.loads(place.settings.read_bytes().decode("utf-8", "replace")) if text != DEEP else True
        assert setup.setup(place.client, place.here()).changes == []
        disconnect.disconnect(place.client, place.here())
        assert place.files() == before
        assert not (place.home / ".backstory" / "clients").exists()

    in_a_home(text, check)


EDITS = st.sampled_from(["server", "member", "both"])


@settings(max_examples=150, deadline=None)
@given(st.none() | pretty(), EDITS)
def test_where_another_program_wrote_in_between_only_our_entry_goes(text: bytes | None, edit: str) -> None:
    """As `cline mcp add` does it: the whole file is written anew."""

    def edited(document: dict[str, Any]) -> dict[str, Any]:
        if edit != "member":
            document.setdefault("mcpServers", {})["added"] = {"transport": {"type": "stdio", "command": "x"}}
        if edit != "server":
            document["added"] = 1
        return document

    def check(place: Place) -> None:
        before = place.files()
        try:
            setup.setup(place.client, place.here())
        except ClientError:
            assert place.files() == before
            return
        between = edited(json.loads(place.settings.read_bytes()))
        place.write(json.dumps(between, indent=2) + "\n")
        disconnect.disconnect(place.client, place.here())
        left = place.settings.read_text()
        wanted = edited(json.loads(text)) if text is not None else edited({})
        if text is None:
            wanted.setdefault("mcpServers", {})  # the file is ours, and what is left of it is theirs
        assert json.loads(left) == wanted
        # Every byte that is left is one of those that the other program wrote.
        rest = iter(json.dumps(between, indent=2) + "\n")
        assert all(character in rest for character in left)

    in_a_home(text, check)


@settings(max_examples=150, deadline=None)
@given(pretty() | loose(), st.sampled_from([b"\n", b"  ", b"\r\n\t"]), st.booleans())
def test_where_somebody_typed_in_between_only_our_entry_goes(text: bytes, typed: bytes, at_end: bool) -> None:
    def edited(data: bytes) -> bytes:
        return data + typed if at_end else typed + data

    def check(place: Place) -> None:
        try:
            setup.setup(place.client, place.here())
        except ClientError:
            return
        place.settings.write_bytes(edited(place.settings.read_bytes()))
        disconnect.disconnect(place.client, place.here())
        assert place.settings.read_bytes() == edited(text)

    in_a_home(text, check)


def plain(found: Any) -> Any:
    """A document as `value` gives it: numbers are floats."""
    if isinstance(found, dict):
        return {key: plain(one) for key, one in found.items()}
    if isinstance(found, list):
        return [plain(one) for one in found]
    return float(found) if isinstance(found, int) and not isinstance(found, bool) else found


def refuse_constant(name: str) -> None:
    raise ValueError(name)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_the_scanner_takes_exactly_what_is_json(text: bytes) -> None:
    """Held to the standard library, with NaN and Infinity refused as `JSON.parse` refuses them."""
    try:
        wanted = json.loads(text.decode("utf-8", "replace"), parse_constant=refuse_constant)
    except ValueError:
        wanted = NotJson
    try:
        found: Any = value(text, parse(text), depth=100)
    except NotJson:
        found = NotJson
    assert found == (plain(wanted) if wanted is not NotJson else NotJson)


@settings(max_examples=200, deadline=None)
@given(pretty() | loose(), st.text(max_size=8), st.lists(st.text(max_size=4), max_size=2))
def test_an_entry_put_in_is_read_back_and_the_rest_is_the_same(
    text: bytes, command: str, args: list[str]
) -> None:
    spec = texts.Spec({"command": command, "args": args, "gone": None}, {"timeout": 60})
    try:
        before = texts.entries(text)
        new = texts.put(text, "ours", spec)
    except (texts.Unreadable, UnicodeEncodeError):
        return
    after = texts.entries(new)
    assert after.pop("ours") == {"command": command, "args": args, "timeout": 60.0}
    assert list(after.items()) == list(before.items())
    assert texts.put(new, "ours", spec) == new
    assert texts.take_out(new, "ours", text) == text
