"""By what an exchange is known: forgetting and edits hold for its copies, for nothing else, and for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories import of_sessions, said
from sessions import ID, START, Session, text, wrapped

from backstory import Archive
from backstory.memory.keys import is_random, key_of
from backstory.schema.exchange import Exchange

ONE, TWO = "1796026000000_aaaaa", "1796027000000_bbbbb"
UUID, SHORT = "41b62a96-1f6e-4b63-ba72-733486dc54ad", "msg_81ueO4p_"
IDS: list[Any] = [UUID, SHORT, "7", ...]
"""Ids of messages: Cline's two kinds, a host's counter, and none at all."""


def conversation(root: Path, session_id: str, start: int, asked: str, message_id: Any) -> Session:
    session = Session(root, session_id, start)
    session.prompt(asked, id=message_id)
    session.reply(f"answer of {session_id}", id="r" if message_id is not ... else ...)
    return session


def fork_of(session: Session) -> Session:
    """A session that begins with copies of another's messages."""
    fork = Session(session.root, TWO, START + 10**6)
    fork.messages = [dict(message) for message in session.messages]
    return fork


def forget(opened: Archive, *ids: str) -> None:
    opened.memory.forget(opened.memory.forgettable(item_ids=ids))


def again(opened: Archive) -> list[tuple[str, str]]:
    """What the memory holds when every session is learned anew."""
    opened.connection.execute("UPDATE conversation SET generation = -1")
    opened.memory.learn()
    return said(opened)


@pytest.mark.parametrize("message_id", IDS[2:])
def test_unrelated_sessions_with_ids_that_are_not_random_share_nothing(
    tmp_path: Path, message_id: Any
) -> None:
    root = tmp_path / "sessions"
    one = conversation(root, ONE, START, "continue", message_id)
    two = conversation(root, TWO, START + 10**6, "continue", message_id)
    with of_sessions(tmp_path / "home", one, two) as opened:
        memory = opened.memory
        memory.learn()
        found = memory.recall("answer").results
        assert {passage.session_id for passage in found} == {ONE, TWO}
        memory.edit("e1", answered="edited")
        assert sorted(answer for _, answer in said(opened)) == [f"answer of {TWO}", "edited"]
        what = memory.forgettable(item_ids=["e1"])
        assert what.copies == 0
        memory.forget(what)
        assert again(opened) == [("continue", f"answer of {TWO}")]


@pytest.mark.parametrize("message_id", IDS[:3])
def test_copies_share_what_is_made_of_one_of_them(tmp_path: Path, message_id: Any) -> None:
    one = conversation(tmp_path / "sessions", ONE, START, "old", message_id)
    with of_sessions(tmp_path / "home", one, fork_of(one)) as opened:
        opened.memory.learn()
        opened.memory.edit("e1", answered="edited")
        assert again(opened) == [("old", "edited")] * 2
        forget(opened, "e2")
        assert again(opened) == []


@pytest.mark.parametrize("message_id", IDS[:3])
def test_a_text_that_is_read_differently_is_the_same_prompt(tmp_path: Path, message_id: Any) -> None:
    one = conversation(tmp_path / "sessions", ONE, START, "my secret thing", message_id)
    one.prompt("edited away", id=f"{message_id}-2" if message_id != SHORT else "msg_llMFYQpg")
    with of_sessions(tmp_path / "home", one) as opened:
        opened.memory.learn()
        opened.memory.edit("e2", asked="harmless")
        forget(opened, "e1")
        for message in (one.messages[0], one.messages[2]):
            typed = message["content"][0]["text"].replace("</user_input>", " and more</user_input>")
            message["content"] = [text(typed)]
        one.write()
        opened.sync([one.root])
        assert again(opened) == [("harmless", "")]


def test_a_prompt_that_only_the_manifest_knew_stays_forgotten_when_its_message_comes(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["prompt"] = "my hidden prompt"
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        assert said(opened) == [("my hidden prompt", "")]
        forget(opened, "e1")
        session.prompt("my hidden prompt", id=UUID)
        session.reply("x")
        session.write()
        opened.sync([session.root])
        opened.memory.learn()
        assert said(opened) == []


def test_a_prompt_that_only_the_manifest_knew_stays_edited_when_its_message_comes(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["prompt"] = "my hidden prompt"
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        opened.memory.edit("e1", asked="a harmless prompt")
        session.prompt("my hidden prompt", id=UUID)
        session.reply("x")
        session.write()
        opened.sync([session.root])
        opened.memory.learn()
        assert said(opened) == [("a harmless prompt", "x")]
        assert again(opened) == [("a harmless prompt", "x")]


@pytest.mark.parametrize("by", ["half", "both"])
def test_the_half_that_was_not_edited_grows_with_the_record(tmp_path: Path, by: str) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("How do we rotate logs", id=UUID)
    session.reply("First part.")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        same = {"answered": said(opened)[0][1]} if by == "both" else {}
        opened.memory.edit("e1", asked="How do we turn logs", **same)
        session.reply("Second part: the wallaby way.")
        session.write()
        opened.sync([session.root])
        opened.memory.learn()
        ((asked, answered),) = said(opened)
        assert asked == "How do we turn logs"
        assert answered.startswith("First part.")
        assert "wallaby" in answered
        assert opened.memory.recall("wallaby").results
        opened.memory.edit("e1", answered="Another answer")
        session.reply("Third part.")
        session.write()
        opened.sync([session.root])
        opened.memory.learn()
        assert said(opened) == [("How do we turn logs", "Another answer")] == again(opened)


@pytest.mark.parametrize("learned", ["never", "behind", "wholly"])
def test_forgetting_a_session_covers_its_forks_whatever_of_it_is_learned(
    tmp_path: Path, learned: str
) -> None:
    one = conversation(tmp_path / "sessions", ONE, START, "old secret", UUID)
    with of_sessions(tmp_path / "home", one) as opened:
        memory = opened.memory
        if learned == "behind":
            memory.learn()
        one.prompt("newer secret", id="1c25a96a-1f6e-4b63-ba72-733486dc54ad")
        one.write()
        opened.sync([one.root])
        if learned == "wholly":
            memory.learn()
        memory.forget(memory.forgettable(session_id=ONE))
        fork = fork_of(one)
        fork.prompt("more", id="2c25a96a-1f6e-4b63-ba72-733486dc54ad")
        fork.write()
        opened.sync([fork.root])
        memory.learn()
        assert said(opened) == [("more", "")]


def test_an_undone_forgetting_of_a_session_that_was_not_learned_leaves_no_trace(tmp_path: Path) -> None:
    one = conversation(tmp_path / "sessions", ONE, START, "old", UUID)
    with of_sessions(tmp_path / "home", one) as opened:
        memory = opened.memory
        memory.put_back(memory.forget(memory.forgettable(session_id=ONE)))
        assert opened.connection.execute("SELECT * FROM tombstone").fetchall() == []
        memory.learn()
        assert said(opened) == [("old", f"answer of {ONE}")]


# --- Edits of what is no longer in the record ---------------------------------------------------------------


@pytest.mark.parametrize("message_id", IDS)
def test_an_edit_goes_with_the_record(tmp_path: Path, message_id: Any) -> None:
    one = conversation(tmp_path / "sessions", ID, START, "q", message_id)
    with of_sessions(tmp_path / "home", one) as opened:
        opened.memory.learn()
        opened.memory.edit("e1", answered="CONFIDENTIAL")
        opened.forget(ID)
        assert [part.kind for part in opened.memory.export()] == ["workspace", "forgotten"]
        assert no_trace(opened, b"CONFIDENTIAL")


@pytest.mark.parametrize("message_id", IDS)
def test_an_edit_stays_while_another_session_has_the_prompt_learned_or_not(
    tmp_path: Path, message_id: Any
) -> None:
    one = conversation(tmp_path / "sessions", ONE, START, "q", message_id)
    other = conversation(tmp_path / "sessions", TWO, START + 10**6, "q", message_id)
    with of_sessions(tmp_path / "home", one) as opened:
        opened.memory.learn()
        opened.memory.edit("e1", answered="edited")
        fork_of(one).write() if message_id is not ... else other.write()
        opened.sync([one.root])
        opened.forget(ONE)
        opened.memory.learn()
        assert said(opened) == [("q", "edited" if message_id is not ... else f"answer of {TWO}")]


@pytest.mark.parametrize("message_id", IDS)
def test_an_edit_of_a_session_that_is_not_learned_now_stays(tmp_path: Path, message_id: Any) -> None:
    one = conversation(tmp_path / "sessions", ONE, START, "q", message_id)
    two = conversation(tmp_path / "sessions", TWO, START + 10**6, "other", message_id)
    if message_id in (UUID, SHORT):
        two.messages[0]["id"] = "4ab62a96-1f6e-4b63-ba72-733486dc54ad"
    with of_sessions(tmp_path / "home", one, two) as opened:
        opened.memory.learn()
        opened.memory.edit("e1", answered="edited")
        opened.connection.execute("DELETE FROM exchange WHERE n = 1")
        opened.forget(TWO)
        assert again(opened) == [("q", "edited")]


def no_trace(opened: Archive, word: bytes) -> bool:
    """Whether no word is in the archive's files, once what was written ahead is in."""
    opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = [path for path in opened.path.parent.glob("archive.db*") if path.is_file()]
    return not any(word.lower() in path.read_bytes().lower() for path in files)


def test_nothing_of_a_text_that_was_edited_away_is_left_in_the_file(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("q")
    session.reply("a")
    with of_sessions(tmp_path / "home", session) as opened:
        memory = opened.memory
        memory.learn()
        memory.remember("the giraffecorn fact " + "filling " * 900)
        memory.edit("e1", answered="the zebracorn answer " + "stuffing " * 900)
        memory.edit("f1", text="other")
        memory.edit("e1", answered="other")
        assert no_trace(opened, b"giraffecorn")
        assert no_trace(opened, b"zebracorn")


# --- The rule ------------------------------------------------------------------------------------------------


def one_of(message_id: str, at: int | None, asked: str) -> Exchange:
    return Exchange(1, message_id, f"{message_id}#0", at, asked, "")


@pytest.mark.parametrize(
    "message_id", [UUID, f"error_{UUID}", f"{UUID}~2", SHORT, f"{SHORT}_part_2", "msg_hVt2nsQr~2"]
)
def test_clines_own_ids_are_random(message_id: str) -> None:
    assert is_random(message_id)


@given(st.from_regex(r"(?:msg|message|step)?[_-]?[0-9]{1,12}|msg_[a-z]{4}[0-9]{4}", fullmatch=True))
def test_a_counter_is_not_random(message_id: str) -> None:
    assert not is_random(message_id)


@given(st.sampled_from([UUID, SHORT, "7", "m1"]), st.text(), st.text(), st.integers(0, 2**42))
def test_the_text_of_a_prompt_with_an_id_is_no_part_of_its_key(
    message_id: str, asked: str, other: str, at: int
) -> None:
    first, second = (
        key_of(one_of(message_id, at, one), home) for one, home in ((asked, "a/1"), (other, "a/2"))
    )
    assert first == second


@given(st.sampled_from(["7", "m1", "@0", "./@3", "manifest"]), st.text())
def test_without_a_random_id_or_a_time_the_session_decides(message_id: str, asked: str) -> None:
    first, second = (key_of(one_of(message_id, None, asked), home) for home in ("a/1", "a/2"))
    assert first != second


def test_a_prompt_after_a_rewind_that_took_the_number_of_another_is_another(tmp_path: Path) -> None:
    session = conversation(tmp_path / "sessions", ID, START, "first", "1")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        forget(opened, "e1")
        session.messages.clear()
        session.add("user", [text(wrapped("another"))], id="1", ts=START + 99_000)
        session.write()
        opened.sync([session.root])
        opened.memory.learn()
        assert said(opened) == [("another", "")]
