"""The sessions of hello-service: one with all file tools in eight seconds, one that measures a cold start."""

from __future__ import annotations

from collections.abc import Iterator

from ..models import IN_HOUSE, SONNET, Tokens
from ..moments import Moments
from ..project import Project
from ..results import left_behind, ran, timed_out
from ..session import Session
from ..texts import output


def tell(moments: Moments) -> Iterator[Session]:
    yield _greeting(moments)
    yield _cold_start(moments)


def _greeting(moments: Moments) -> Session:
    """2js90: the small session in which every file tool is used once, and four things fail."""
    counts = [
        Tokens(10_200, 80),
        Tokens(11_600, 90, 1_000),
        Tokens(12_900, 120, 6_000),
        Tokens(13_300, 30, 8_000),
        Tokens(13_500, 20, 8_000),
        Tokens(13_900, 20, 8_000),
        Tokens(14_380, 60),
    ]
    story = Session(
        moments,
        "2js90",
        "09:57:52.0",
        project=Project("hello-service"),
        model=IN_HOUSE,
        interactive=False,
        tokens=counts,
    )
    story.at("09:57:52.4").prompt("Rename the greeting in hello.py")
    story.at("09:57:53.6").think("I should look at the files first.")
    story.read("hello.py", "missing.py")
    bad = "python3 -c 'import sys; print(\"bad\"); sys.exit(3)'"
    commands = {"ls -la": ran("ls -la", output("hello-service", "files")), bad: ran(bad, "bad\n", 3)}
    story.at("09:57:54.8").say("Running commands.").run_all(commands, took=0.34)
    with story.together():
        story.at("09:57:56.0").say("Editing.").edit("hello.py", "print('hi')", "print('hello')", took=0.01)
        story.create("new.py", "x = 1\ny = 2\n", took=0.02)
    with story.together():
        story.at("09:57:57.1").say("Insert and failing edit.").insert("new.py", 1, "# inserted\n", took=0.01)
        story.edit("new.py", "does not exist", "z", took=0.02)
    story.at("09:57:58.2").say("Searching.").find("hello", "useWidget", "nothing_matches_zzz")
    asked, pages = _two_pages()
    story.at("09:57:59.0").say("Fetching.").tool("fetch_web_content", asked, pages, took=0.05)
    story.at("09:58:00.2").say("All done: renamed the greeting.")
    return story.end("completed", "09:58:00.5")


def _two_pages() -> tuple[dict[str, object], list[object]]:
    page, missing = "http://127.0.0.1:19001/page", "http://127.0.0.1:19001/missing"
    asked: dict[str, object] = {
        "requests": [{"url": page, "prompt": "summarize"}, {"url": missing, "prompt": "summarize"}]
    }
    text = (
        f"URL: {page}\nContent-Type: text/html\nSize: 113 bytes\n\n--- Content ---\nA page about greetings and "
        "widgets.\n\n--- Analysis Request ---\nPrompt: summarize"
    )
    error = "Error fetching web content: HTTP 404: Not Found"
    return asked, [
        {"query": page, "result": text, "success": True},
        {"query": missing, "result": "", "error": error, "success": False},
    ]


def _cold_start(moments: Moments) -> Session:
    """hnrzu: measured, halved, and one long measurement that Cline gave up on."""
    project = Project("hello-service")
    story = Session(moments, "hnrzu", "-1d 15:50:20", project=project, model=SONNET, base=13_800)
    story.at("-1d 15:50:41").prompt("Profile the cold start and cut it in half")
    story.run("python bench.py --starts 3", output("hello-service", "cold start"), took=6.1)
    importing = "python -X importtime -m service --check 2>&1 | sort -k2 | tail -4"
    story.run(importing, output("hello-service", "imports"), took=2.4)
    story.think("pandas takes 0.9 of 1.4 seconds, and only the nightly report needs it. The rules take 0.4.")
    story.read("service/app.py", "service/__main__.py")
    start = "python -m service & sleep 2; curl -s localhost:8080/hello"
    story.run_all({start: left_behind(start, "hello\n")}, took=2.3)
    story.edit(
        "service/app.py",
        "import json\nimport time\n\nimport pandas\nfrom jinja2 import Environment, FileSystemLoader\n\n"
        'from service.rules import load_rules\n\nTEMPLATES = Environment(loader=FileSystemLoader("templates"))\n'
        'RULES = load_rules("rules/*.yaml")\nSTARTED = time.monotonic()\n\n\ndef greet(name: str) -> str:\n'
        '    """The greeting for a name, by the first rule that fits."""\n'
        "    rule = next(rule for rule in RULES if rule.fits(name))\n",
        "import json\nimport time\nfrom functools import cache\n\nfrom jinja2 import Environment, FileSystemLoader\n\n"
        'from service.rules import Rule, load_rules\n\nTEMPLATES = Environment(loader=FileSystemLoader("templates"))\n'
        "STARTED = time.monotonic()\n\n\n@cache\ndef rules() -> tuple[Rule, ...]:\n"
        '    """Read when the first name is greeted, and kept."""\n    return load_rules("rules/*.yaml")\n\n\n'
        'def greet(name: str) -> str:\n    """The greeting for a name, by the first rule that fits."""\n'
        "    rule = next(rule for rule in rules() if rule.fits(name))\n",
    )
    story.edit(
        "service/app.py",
        "    frame = pandas.read_csv(path)\n",
        "    import pandas  # Takes 0.9 s, and only this report needs it.\n\n    frame = pandas.read_csv(path)\n",
    )
    story.run("python -m pytest -q", output("hello-service", "tests"), took=3.3)
    story.run("python bench.py --starts 3", output("hello-service", "cold start after"), took=2.5)
    long = "python bench.py --starts 200"
    story.run_all({long: timed_out(long)}, took=30.04)
    story.at("-1d 16:01:31").say(
        "1.81 s before, 0.60 s now, as the median of three starts: pandas is imported by the report alone, and the "
        "rules are read with the first greeting. 200 starts did not finish within 30 seconds, so I have no spread."
    )
    return story.end("completed", "-1d 16:02:03")
