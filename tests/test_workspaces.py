"""Who owns a session: claims on folders in all their spellings, and what becomes of what was learned when they move."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from memories import of_sessions, reasons, said
from sessions import START, Session, archive

from backstory.errors import InputError
from backstory.memory import folders
from backstory.memory.folders import absolute, distribution_of, is_absolute, is_near, key, with_parents
from backstory.memory.memory import Memory
from backstory.memory.workspaces import know_drives


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory with the workspaces `default`, `work` and `home`."""
    found = archive(tmp_path / "home").memory
    for name in ("work", "home"):
        found.create_workspace(name)
    return found


def session_at(root: Path, cwd: str | None, workspace_root: str | None = None, n: int = 0) -> Session:
    """A session with one exchange, in a folder."""
    session = Session(root, f"{START + n}_abcd{n}", START + n)
    assert session.manifest is not None
    session.manifest.update(cwd=cwd, workspace_root=workspace_root)
    session.prompt(f"prompt {n}")
    session.reply(f"answer {n}")
    return session


def owner(tmp_path: Path, cwd: str | None, root: str | None, **claims: str) -> str | None:
    """Who refuses or learns a session for the workspace `default`: the reason, null where it is learned."""
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", cwd, root)) as opened:
        for name, folder in claims.items():
            if name != "default":
                opened.memory.create_workspace(name)
            opened.memory.claim(folder, name)
        (reason,) = reasons(opened.memory.learn()).values()
    return reason


# --- Claims ------------------------------------------------------------------------------------------------


def test_claims_nest_and_the_longest_wins(memory: Memory) -> None:
    memory.claim("/home/dev", "home")
    memory.claim("/home/dev/work", "work")
    memory.claim("/home/dev/work/mine", "home")
    assert memory.owner("/home/dev/x") == "home"
    assert memory.owner("/home/dev/work/api/src") == "work"
    assert memory.owner("/home/dev/work/mine/src") == "home"
    assert memory.owner("/srv") is None


def test_a_name_that_begins_alike_is_another_folder(memory: Memory) -> None:
    memory.claim("/home/dev/work", "work")
    assert memory.owner("/home/dev/workshop") is None
    assert memory.owner("/home/dev") is None


def test_the_root_claims_everything(memory: Memory) -> None:
    memory.claim("/", "home")
    assert memory.owner("/srv/x") == "home"
    assert memory.owner("/") == "home"


def test_a_folder_that_does_not_exist_can_be_claimed(memory: Memory, tmp_path: Path) -> None:
    memory.claim(str(tmp_path / "not" / "there"), "work")
    assert memory.owner(str(tmp_path / "not" / "there" / "either")) == "work"


def test_a_relative_folder_cannot_be_claimed(memory: Memory) -> None:
    with pytest.raises(InputError, match='"work" is not an absolute folder'):
        memory.claim("work", "work")


def test_the_last_claim_on_a_folder_holds(memory: Memory) -> None:
    memory.claim("/home/dev/work", "work")
    again = memory.claim("/home/dev/work/", "home")
    assert (again.before, memory.owner("/home/dev/work")) == ("work", "home")
    assert sum(len(one.claims) for one in memory.workspaces()) == 1


def test_a_released_folder_belongs_to_the_next_claim_above_it(memory: Memory) -> None:
    memory.claim("/home/dev", "home")
    memory.claim("/home/dev/work", "work")
    assert memory.release("/home/dev/work/") == "work"
    assert memory.owner("/home/dev/work") == "home"
    with pytest.raises(InputError, match="nobody claims /home/dev/work"):
        memory.release("/home/dev/work")


@pytest.mark.parametrize("name", ["", "Work", "a b", "-x", "x" * 65, "ä", "a/b"])
def test_a_bad_name_is_refused(memory: Memory, name: str) -> None:
    with pytest.raises(InputError, match="cannot be a workspace"):
        memory.create_workspace(name)


def test_a_taken_name_is_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match='already a workspace "work"'):
        memory.create_workspace("work")


def test_the_claim_that_decides_is_named_as_it_was_made(memory: Memory) -> None:
    memory.claim("/home/dev/work/", "work")
    found = memory.claim_on("/home/dev/work/api")
    assert found is not None
    assert (found.workspace, found.claim) == ("work", "/home/dev/work/")
    assert memory.claim_on("/srv") is None


# --- Sessions ----------------------------------------------------------------------------------------------


def test_a_session_that_nobody_claims_is_learned_by_the_workspace_that_learns(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/x")) as opened:
        opened.memory.create_workspace("work")
        (one,) = opened.memory.learn("work").learned
        assert one.why == "claimed by nobody"
        assert said(opened, workspace="work") == [("prompt 0", "answer 0")]


def test_a_session_is_refused_by_every_workspace_but_the_one_that_claims_it(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/x")) as opened:
        for name in ("work", "other"):
            opened.memory.create_workspace(name)
        opened.memory.claim("/home/dev", "work")
        for name in ("default", "other"):
            (refused,) = opened.memory.learn(name).refused
            assert (refused.reason, refused.why) == ("claimed_by:work", "its folder is claimed by work")
        (one,) = opened.memory.learn("work").learned
        assert one.why == "claimed by work"


def test_the_working_folder_goes_before_the_workspace_root(tmp_path: Path) -> None:
    assert owner(tmp_path, "/a/x", "/b", default="/a", other="/b") is None
    assert owner(tmp_path / "2", "/a/x", "/b", other="/a", default="/b") == "claimed_by:other"


def test_a_longer_claim_on_the_workspace_root_does_not_beat_one_on_the_working_folder(tmp_path: Path) -> None:
    assert owner(tmp_path, "/a/x", "/b/long/er", default="/a", other="/b/long/er") is None


def test_the_workspace_root_decides_only_where_nobody_claims_the_working_folder(tmp_path: Path) -> None:
    assert owner(tmp_path, "/elsewhere", "/b/app", other="/b") == "claimed_by:other"
    assert owner(tmp_path / "2", None, "/b/app", other="/b") == "claimed_by:other"


def test_a_relative_working_folder_is_one_of_the_workspace_root(tmp_path: Path) -> None:
    assert owner(tmp_path, "packages/api", "/b/app", other="/b/app/packages/api") == "claimed_by:other"
    assert owner(tmp_path / "2", "../lib", "/b/app", other="/b/lib") == "claimed_by:other"
    assert owner(tmp_path / "3", "api", "C:\\work", other="c:/WORK/api") == "claimed_by:other"


def test_a_relative_folder_of_nothing_belongs_to_nobody(tmp_path: Path) -> None:
    assert owner(tmp_path, "packages/api", None, other="/") is None


@pytest.mark.parametrize(
    ("cwd", "claim"),
    [
        ("C:\\Users\\Dev\\Shop", "c:\\users\\dev"),
        ("c:/Users/dev/shop", "C:\\USERS\\DEV\\"),
        ("\\\\?\\C:\\Users\\Dev\\Shop", "C:\\Users\\Dev"),
        ("\\\\server\\share\\Shop", "//SERVER/share"),
        ("\\\\?\\UNC\\server\\share\\shop", "\\\\server\\share"),
        ("\\\\wsl.localhost\\Ubuntu\\home\\dev\\api", "\\\\wsl$\\Ubuntu\\home\\dev"),
        ("\\\\wsl$\\ubuntu\\home\\dev\\api", "\\\\wsl.localhost\\Ubuntu\\home\\dev"),
        ("\\\\wsl.localhost\\Ubuntu\\mnt\\c\\work\\api", "C:\\Work"),
        ("C:\\work\\..\\shop", "C:\\shop"),
        ("/home/dev//work/./api/", "/home/dev/work"),
    ],
)
def test_a_folder_is_the_same_in_every_spelling(tmp_path: Path, cwd: str, claim: str) -> None:
    assert owner(tmp_path, cwd, cwd, other=claim) == "claimed_by:other"


@pytest.mark.parametrize(
    ("cwd", "claim"),
    [
        ("\\\\server\\share\\api", "/"),
        ("\\\\wsl$\\Ubuntu\\home", "/"),
        ("C:\\work", "/"),
        ("/home/Dev/api", "/home/dev"),
        ("\\\\wsl$\\Ubuntu\\home\\Dev\\api", "\\\\wsl$\\Ubuntu\\home\\dev"),
        ("\\\\wsl$\\Ubuntu\\home\\dev", "\\\\wsl$\\Debian\\home\\dev"),
        ("\\\\wsl$\\Ubuntu\\home\\dev", "/home/dev"),
        ("C:\\work", "D:\\work"),
        ("C:\\workshop", "C:\\work"),
    ],
)
def test_folders_that_differ_are_told_apart(tmp_path: Path, cwd: str, claim: str) -> None:
    assert owner(tmp_path, cwd, cwd, other=claim) is None


def test_what_was_recorded_in_a_distribution_is_claimed_by_its_windows_name(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/api")) as opened:
        # As the archive has it on Windows, where the sessions of a distribution are read over the network share.
        opened.connection.execute(
            "UPDATE session SET root = ?", ("\\\\wsl.localhost\\Ubuntu\\home\\dev\\.cline",)
        )
        opened.memory.create_workspace("work")
        opened.memory.claim("\\\\wsl$\\Ubuntu\\home\\dev", "work")
        assert set(reasons(opened.memory.learn()).values()) == {"claimed_by:work"}
        (one,) = opened.memory.learn("work").learned
        assert one.project == "api"


@pytest.mark.parametrize(
    ("drives", "cwd", "claim"),
    [
        ("/", "/c/work/api", "C:\\Work"),
        ("/", "/c/work/api", "\\\\wsl$\\Ubuntu\\c\\work"),
        ("/win/", "/win/d/api", "D:\\"),
        ("/mnt/", "/mnt/c/work", "c:/work"),
    ],
)
def test_a_drive_of_windows_is_itself_wherever_a_distribution_has_it(
    tmp_path: Path, drives: str, cwd: str, claim: str
) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", cwd)) as opened:
        opened.connection.execute(
            "UPDATE session SET root = ?", ("\\\\wsl.localhost\\Ubuntu\\home\\dev\\.cline",)
        )
        know_drives(opened.connection, {"ubuntu": drives, "Debian": "/elsewhere/"})
        opened.memory.create_workspace("work")
        opened.memory.claim(claim, "work")
        assert set(reasons(opened.memory.learn()).values()) == {"claimed_by:work"}


def test_a_folder_is_near_what_lies_above_and_below_it_and_nothing_else() -> None:
    near = [("", "/home"), ("/home/dev", "/home"), ("c:/x", "c:"), ("//server", "//server/share")]
    apart = [("", "//server/share"), ("/home", "/homes"), ("", "c:/x"), ("", "wsl://ubuntu/x")]
    for one, other in near:
        assert is_near(one, other)
        assert is_near(other, one)
    for one, other in apart:
        assert not is_near(one, other)
        assert not is_near(other, one)


def test_a_folder_whose_name_is_no_utf_8_is_claimed_as_cline_records_it(tmp_path: Path) -> None:
    there = os.fsdecode(b"/home/dev/caf\xe9")
    assert owner(tmp_path, "/home/dev/caf\ufffd/api", None, other=there) == "claimed_by:other"


@pytest.mark.parametrize(
    ("root", "distribution"),
    [
        ("\\\\wsl.localhost\\Ubuntu\\home", "Ubuntu"),
        ("\\\\wsl$\\Debian", "Debian"),
        ("//wsl$/Ubuntu/home", "Ubuntu"),
        ("\\\\?\\UNC\\wsl.localhost\\Ubuntu\\home", "Ubuntu"),
        ("\\\\server\\share", None),
        ("C:\\Users", None),
        ("/wsl$/Ubuntu", None),
        ("\\\\wsl$\\", None),
        ("", None),
    ],
)
def test_a_share_names_its_distribution(root: str, distribution: str | None) -> None:
    assert distribution_of(root) == distribution


# --- Links and worktrees -----------------------------------------------------------------------------------


def test_a_folder_that_is_reached_through_a_link_is_the_folder(memory: Memory, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "api").mkdir(parents=True)
    link.symlink_to(real)
    memory.claim(str(real), "work")
    assert memory.owner(str(link / "api")) == "work"


def test_a_claim_on_a_link_holds_for_the_folder_that_it_leads_to(memory: Memory, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "api").mkdir(parents=True)
    link.symlink_to(real)
    memory.claim(str(link), "work")
    assert memory.owner(str(real / "api")) == "work"
    memory.claim(str(real), "home")
    assert memory.owner(str(real / "api")) == "home"


def git(folder: Path, *args: str) -> None:
    # No setting of the machine's own may change what git does here.
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    name = ("-c", "user.name=dev", "-c", "user.email=dev@localhost")
    subprocess.run(["git", *name, *args], cwd=folder, env=env, check=True, capture_output=True)


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A linked worktree of the repository `shop`, beside it under another name."""
    home = tmp_path / "repositories" / "shop"
    home.mkdir(parents=True)
    git(home, "init", "-q")
    git(home, "commit", "-q", "--allow-empty", "-m", "first")
    linked = tmp_path / "trees" / "try-it"
    linked.parent.mkdir()
    git(home, "worktree", "add", "-q", str(linked))
    (linked / "src").mkdir()
    return linked


def test_a_worktree_belongs_to_whoever_claims_its_repository(
    memory: Memory, worktree: Path, tmp_path: Path
) -> None:
    memory.claim(str(tmp_path / "repositories"), "work")
    assert memory.owner(str(worktree)) == "work"
    assert memory.owner(str(worktree / "src")) == "work"


def test_a_claim_on_a_worktree_goes_before_one_on_its_repository(
    memory: Memory, worktree: Path, tmp_path: Path
) -> None:
    memory.claim(str(tmp_path / "repositories" / "shop" / "src"), "home")
    memory.claim(str(worktree), "work")
    assert memory.owner(str(worktree / "src")) == "work"
    assert memory.owner(str(tmp_path / "repositories" / "shop")) is None


def test_a_worktree_has_the_project_of_its_repository(tmp_path: Path, worktree: Path) -> None:
    main = session_at(tmp_path / "sessions", str(tmp_path / "repositories" / "shop"), n=0)
    linked = session_at(tmp_path / "sessions", str(worktree / "src"), n=1)
    with of_sessions(tmp_path / "home", main, linked) as opened:
        assert [one.project for one in opened.memory.learn().learned] == ["shop", "shop"]
        assert {one.project for one in opened.memory.recent(folder=str(worktree))} == {"shop"}
        assert len(opened.memory.recent(folder=str(worktree))) == 2
        assert [one.project for one in opened.memory.learn().known] == ["shop", "shop"]


def test_a_submodule_is_no_worktree(tmp_path: Path, worktree: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    inner = tmp_path / "repositories" / "shop"
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "vendored")
    assert (outer / "vendored" / ".git").is_file()
    assert folders.repository(str(outer / "vendored")) is None


def test_a_git_file_that_the_repository_knows_nothing_of_moves_no_folder(
    memory: Memory, worktree: Path, tmp_path: Path
) -> None:
    """A downloaded folder can name any repository; git itself asks the repository."""
    home = tmp_path / "repositories" / "shop" / ".git"
    memory.claim(str(tmp_path / "repositories"), "work")
    assert memory.owner(str(worktree)) == "work"
    own, copied, invented = (tmp_path / "downloads" / name for name in ("own", "copied", "invented"))
    for folder in (own, copied, invented):
        (folder / "g").mkdir(parents=True)
    (own / ".git").write_text("gitdir: g\n")
    (own / "g" / "commondir").write_text(f"{home}\n")
    (own / "g" / "gitdir").write_text(f"{own / '.git'}\n")
    (copied / ".git").write_text((worktree / ".git").read_text())
    fake = invented / "worktrees" / "g"
    fake.mkdir(parents=True)
    (invented / ".git").write_text(f"gitdir: {fake}\n")
    (fake / "commondir").write_text(f"{home}\n")
    for folder in (own, copied, invented):
        assert memory.owner(str(folder)) is None
        assert folders.Place(str(folder)).worktree is None


def test_a_worktree_that_names_its_folders_by_relative_paths_is_one(worktree: Path, tmp_path: Path) -> None:
    """As git writes them with `worktree.useRelativePaths`."""
    own = tmp_path / "repositories" / "shop" / ".git" / "worktrees" / "try-it"
    (worktree / ".git").write_text(f"gitdir: {os.path.relpath(own, worktree)}\n")
    (own / "gitdir").write_text(f"{os.path.relpath(worktree / '.git', own)}\n")
    home = str(tmp_path / "repositories" / "shop")
    assert folders.repository(str(worktree)) == (str(worktree), home)


@pytest.mark.parametrize("mark", ["", "gitdir:", "gitdir: ../nowhere", "\0\0", "gitdir: " + "x" * 9000])
def test_a_git_file_that_leads_nowhere_says_nothing(tmp_path: Path, mark: str) -> None:
    (tmp_path / ".git").write_text(mark, "utf-8")
    assert folders.repository(str(tmp_path)) is None
    assert folders.Place(str(tmp_path)).keys == [key(str(tmp_path))]


# --- Claims that move --------------------------------------------------------------------------------------


def test_what_was_learned_moves_to_the_workspace_that_claims_the_folder_later(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/x")) as opened:
        memory = opened.memory
        memory.learn()
        (before,) = memory.items()
        memory.create_workspace("work")
        memory.claim("/home/dev", "work")
        (refused,) = memory.learn().refused
        assert refused.reason == "claimed_by:work"
        assert memory.items() == []
        assert memory.items("work") == [before]
        assert len(memory.learn("work").known) == 1


def test_a_workspace_takes_over_what_others_learned_of_its_folders(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/x")) as opened:
        memory = opened.memory
        memory.create_workspace("work")
        memory.create_workspace("third")
        for name in ("default", "third"):
            memory.learn(name)
        (before,) = memory.items()
        memory.claim("/home/dev", "work")
        memory.learn("work")
        assert memory.items("work") == [before]
        assert memory.items() == memory.items("third") == []
        assert memory.recall("prompt", "work").results
        assert not memory.recall("prompt").results


def test_a_dry_run_moves_nothing(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/x")) as opened:
        memory = opened.memory
        memory.learn()
        memory.create_workspace("work")
        memory.claim("/home/dev", "work")
        for name in ("default", "work"):
            memory.learn(name, write=False)
        assert len(memory.items()) == 1
        assert memory.items("work") == []


def test_a_released_folder_stays_with_what_was_learned_of_it(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/x")) as opened:
        memory = opened.memory
        memory.create_workspace("work")
        memory.claim("/home/dev", "work")
        memory.learn("work")
        memory.release("/home/dev")
        assert len(memory.learn("work").known) == 1
        assert len(memory.items("work")) == 1


def test_facts_stay_in_their_workspace_when_claims_move(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", session_at(tmp_path / "sessions", "/home/dev/x")) as opened:
        memory = opened.memory
        memory.remember("Deploys go out from main.", folder="/home/dev/x", project="x")
        memory.create_workspace("work")
        memory.claim("/home/dev", "work")
        memory.learn()
        memory.learn("work")
        assert [one.kind for one in memory.items()] == ["fact"]
        assert [one.kind for one in memory.items("work")] == ["exchange"]


def test_workspaces_say_what_they_hold(tmp_path: Path) -> None:
    sessions = [session_at(tmp_path / "sessions", f"/home/{n}", n=n) for n in range(3)]
    with of_sessions(tmp_path / "home", *sessions) as opened:
        memory = opened.memory
        memory.create_workspace("work")
        for n, name in enumerate(("work", "default", "default")):
            memory.claim(f"/home/{n}", name)
        memory.remember("A fact.", "work")
        memory.learn()
        memory.learn("work")
        held = {one.name: (one.conversations, one.exchanges, one.facts) for one in memory.workspaces()}
        assert held == {"default": (2, 2, 0), "work": (1, 1, 1)}


# --- Properties --------------------------------------------------------------------------------------------

names = st.text(st.sampled_from("abAB.ä$ -"), min_size=1, max_size=4).filter(
    lambda name: name.strip() == name and name.strip(".")
)
separators = st.sampled_from(["/", "//", "/./"])
# Two slashes at the beginning are a share of Windows.
posix = st.tuples(names, st.lists(st.tuples(separators, names), max_size=5)).map(
    lambda parts: f"/{parts[0]}" + "".join(separator + name for separator, name in parts[1])
)
windows = st.tuples(
    st.sampled_from(
        ["C:", "c:", "\\\\?\\D:", "\\\\server\\share", "\\\\wsl$\\Ubuntu", "\\\\wsl.localhost\\ubuntu"]
    ),
    st.lists(names, max_size=4),
).map(lambda parts: parts[0] + "\\" + "\\".join(parts[1]))
paths = st.one_of(posix, windows)


@given(paths)
@example("/")
@example("C:\\")
@example("//wsl$/Ubuntu")
def test_a_key_is_the_same_with_and_without_a_slash_at_the_end(path: str) -> None:
    assert key(path) == key(path.rstrip("/\\") + ("\\" if "\\" in path else "/"))


@given(posix)
def test_the_key_of_a_key_is_the_key(path: str) -> None:
    assert key(key(path) or "/") == key(path)


@given(windows)
def test_windows_paths_are_the_same_in_any_case_and_with_either_slash(path: str) -> None:
    assert key(path.replace("\\", "/")) == key(path)
    if "wsl" not in path:
        assert key(path.upper()) == key(path.lower())


@given(paths, names)
def test_a_folder_lies_below_each_folder_above_it(path: str, name: str) -> None:
    below = path + ("\\" if "\\" in path else "/") + name
    parents = list(with_parents(key(below)))
    assert key(path) in parents
    assert parents[0] == key(below)
    assert len(parents) == len(set(parents))
    assert parents == sorted(parents, key=len, reverse=True)


@given(posix, names)
def test_what_is_recorded_in_a_distribution_has_the_key_of_its_windows_name(path: str, name: str) -> None:
    seen = "\\\\wsl.localhost\\Ubuntu" + path.replace("/", "\\")
    assert key(path, "Ubuntu") == key(seen)


@given(st.text(max_size=20), st.one_of(st.none(), st.text(max_size=20)))
def test_a_resolved_folder_is_absolute_or_unknown(path: str, base: str | None) -> None:
    found = absolute(path, base)
    assert found is None or is_absolute(found)


@given(st.text(max_size=40))
def test_any_text_has_a_key_and_a_place(path: str) -> None:
    assert isinstance(key(path), str)
    assert folders.Place(path).keys[0] == key(path)
