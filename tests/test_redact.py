"""Secrets are masked and what looks like them is not: labelled samples, idempotence, cuts, and hostile input.

`secrets/positives.jsonl` has a secret a line with what stands around it, `secrets/lookalikes.jsonl` a text a line that
stays. A `~` in a secret is taken out before use: none of the values is real, and as they stand none has a real form.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings import RECORDINGS
from timelimit import within

from backstory import redact


def lines(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parent / "secrets" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


POSITIVES = [{**one, "secret": one["secret"].replace("~", "")} for one in lines("positives")]
LOOKALIKES = lines("lookalikes")
TEXTS = [one["before"] + one["secret"] + one["after"] for one in POSITIVES]
TEXTS += [one["text"] for one in LOOKALIKES]


@pytest.mark.parametrize("sample", POSITIVES, ids=[f"{n}-{one['kind']}" for n, one in enumerate(POSITIVES)])
def test_a_secret_goes_and_what_is_around_it_stays(sample: dict[str, str]) -> None:
    text = sample["before"] + sample["secret"] + sample["after"]
    expected = f"{sample['before']}[masked:{sample['kind']}]{sample['after']}"
    assert redact.masked(text) == (expected, {sample["kind"]: 1})
    assert redact.mask(f"before it\n{text}\nafter it") == f"before it\n{expected}\nafter it" or (
        "-----END" not in sample["secret"] and sample["kind"] == "private-key"
    )


@pytest.mark.parametrize(
    "sample", LOOKALIKES, ids=[f"{n}-{one['label']}" for n, one in enumerate(LOOKALIKES)]
)
def test_what_only_looks_like_a_secret_stays(sample: dict[str, str]) -> None:
    assert redact.masked(sample["text"]) == (sample["text"], {})


def test_there_is_a_sample_of_every_kind() -> None:
    assert {one["kind"] for one in POSITIVES} == set(redact.kinds())


def test_no_kind_begins_with_the_words_of_another() -> None:
    """The doctor counts kinds by the words of their marks."""
    kinds = [kind.split("-") for kind in redact.kinds()]
    assert not [(a, b) for a in kinds for b in kinds if a != b and b[: len(a)] == a]


def test_the_samples_are_no_secrets_as_they_stand_in_the_files() -> None:
    with_a_format = [one for one in lines("positives") if len(one["secret"]) > 30]
    assert with_a_format
    for one in with_a_format:
        assert "~" in one["secret"]


parts = st.sampled_from(
    [
        *[one["secret"] for one in POSITIVES],
        *[one["before"] for one in POSITIVES],
        *[one["after"] for one in POSITIVES],
        *[
            "password",
            "token",
            "key",
            "=",
            ": ",
            '"',
            "'",
            "\\",
            "\n",
            " ",
            "://",
            "@",
            ":",
            "[",
            "]",
            "[masked:",
            ".",
        ],
        *[
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "Authorization: ",
            "Bearer ",
            "é",
            "🔑",
            "密码",
        ],
    ]
)
mixed = st.lists(st.one_of(parts, st.text(max_size=12)), max_size=12).map("".join)


@given(mixed)
def test_masking_twice_changes_nothing(text: str) -> None:
    once = redact.mask(text)
    assert redact.mask(once) == once


@given(mixed)
def test_what_is_not_masked_stays_as_it_is(text: str) -> None:
    at = 0
    rebuilt = []
    for start, end, kind in redact.spans(text):
        assert at <= start < end <= len(text)
        assert kind in redact.kinds()
        rebuilt += [text[at:start], f"[masked:{kind}]"]
        at = end
    assert redact.mask("".join(rebuilt) + text[at:]) == redact.mask(text)


@given(st.text(max_size=300))
def test_a_text_that_is_called_clean_has_no_secret(text: str) -> None:
    if redact.is_clean(text):
        assert redact.mask(text) == text


@given(mixed, st.integers(0, 400), st.integers(0, 400))
def test_a_cut_of_everything_is_the_whole_masked(text: str, one: int, other: int) -> None:
    assert redact.cut(text, 0, len(text)) == redact.mask(text)
    start, stop = min(one, other), max(one, other)
    if not redact.spans(text):
        assert redact.cut(text, start, stop) == text[start:stop]


WHOLE = [one for one in POSITIVES if len(one["secret"]) >= 12]


@pytest.mark.parametrize("sample", WHOLE, ids=[f"{n}-{one['kind']}" for n, one in enumerate(WHOLE)])
def test_of_a_secret_across_a_cut_no_part_is_left(sample: dict[str, str]) -> None:
    secret = sample["secret"]
    before, after = "word " * 300 + "\n" + sample["before"], sample["after"] + "\n" + "word " * 300
    text = before + secret + after
    # The first and the last line of a key say nothing.
    body = secret if sample["kind"] != "private-key" else re.sub(r"-----[A-Z ]+-----", "\n", secret)
    pieces = {body[n : n + 6] for n in range(len(body) - 5) if "\n" not in body[n : n + 6]}
    for inside in range(1, len(secret), max(len(secret) // 40, 1)):
        at = len(before) + inside
        for start, stop in ((0, at), (at, len(text)), (at - 5, at + 3)):
            left = redact.cut(text, start, stop).replace(f"[masked:{sample['kind']}]", "")
            assert not [piece for piece in pieces if piece in left.replace(sample["before"], "")]


def test_a_run_longer_than_the_margin_leaves_nothing_at_a_cut() -> None:
    header, payload = "eyJhbGciOiJIUzI1NiJ9", "eyJ" + "aB3dE5fG7h" * 300
    text = f"look: {header}.{payload}.{'x9Y8' * 20} end"
    for at in (10, 40, 600, 1500, 2900):
        assert "eyJ" not in redact.cut(text, 0, at)
        assert "aB3dE5" not in redact.cut(text, 0, at)
        assert "aB3dE5" not in redact.cut(text, at, len(text))


def test_a_cut_in_a_long_text_without_blanks_keeps_words_of_other_scripts() -> None:
    text = "数据库连接失败了。" * 400
    assert redact.cut(text, 0, 1000) == text[:1000]
    assert redact.cut(text, 1000, 2000) == text[1000:2000]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("password", "hunter22", "[masked:password]"),
        ("Authorization", "Bearer abc123def456ghi", "Bearer [masked:authorization]"),
        ("clientSecret", '8f"3a9c1d2e4b7', "[masked:secret]"),
        ("path", "src/hunter22.py", "src/hunter22.py"),
        ("password", "string", "string"),
        ("url", "https://me:s3cret@host/", "https://me:[masked:url-password]@host/"),
    ],
)
def test_a_value_is_masked_by_its_name(name: str, value: str, expected: str) -> None:
    assert redact.mask_value(name, value) == expected


def test_nothing_in_the_recordings_is_masked() -> None:
    seen = 0
    for path in sorted(RECORDINGS.rglob("*.json")):
        text = path.read_text("utf-8", "replace")
        seen += len(text)
        assert redact.spans(text) == [], path
    assert seen > 1_000_000


HOSTILE = [
    "://a:b1c2d3",
    "://a:b1c2d3 \t ",
    "mysql",
    "mysql -p",
    " login ",
    "docker login -p ",
    "identified by '",
    "identified  by  ",
    "password:\n  ",
    "password:\n" + " " * 60,
    "password: |\n",
    "A",
    "=",
    '"',
    "'",
    "-",
    "\n",
    " ",
    ".",
    "/",
    "sk-",
    "password",
    "password=",
    'api_key="',
    "://:",
    "://a:b@",
    "authorization: ",
    "eyJhbGciOiJIUzI1NiJ9.",
    "cookie: a=b; ",
    "curl -u ",
    "sshpass ",
    "password is ",
    "bearer ",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----\n",
    "a" * 20 + "/",
    "1234567890:" + "a" * 20,
    "hooks.slack.com/services/",
    "token: [",
    "secret\\\\\\",
    "login password ",
    "<password>",
    "&password=",
    "[masked:",
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "A" * 64 + "\n-----END PRIVATE KEY-----\n",
    "key_" * 9 + "=",
    "\u001b[",
    "password=password=" + "x" * 50,
    'Authorization: "Bearer ',
    "PASSWORD=a1b2&",
    "auth=YWJj",
    "@",
    "A" * 9_000 + "!-----END PRIVATE KEY-----",
    "rn" * 9_000 + "!\n-----END PRIVATE KEY-----\n",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_text_takes_time_in_line_with_its_length(part: str) -> None:
    """A megabyte takes a second where the work is linear, and minutes at least where it is quadratic."""
    text = part * (1_000_000 // len(part))
    with within(20):
        redact.mask("https://a:b1c2@d key auth pass " + text + "\npassword=hunter22")
        redact.cut(text, len(text) // 3, len(text) // 2)


@pytest.mark.parametrize("end", ["", " ", "\n", "\nand more"])
def test_a_url_that_was_cut_before_its_host_shows_nothing_of_the_password(end: str) -> None:
    """Cline cuts a title at 120 characters, wherever that is."""
    secret = "Sup3rS3cretPassw0rd99"
    lead = "Please clone this one: https://deploy:"
    for kept in range(6, len(secret) + 1):
        assert redact.mask(f"{lead}{secret[:kept]}{end}") == f"{lead}[masked:url-password]{end}"
