"""The sessions of docs-site: one that compiles the examples of all guides, still running, and one with a hook."""

from __future__ import annotations

from collections.abc import Iterator

from ..models import GLM, HAIKU
from ..moments import Moments
from ..project import Project
from ..session import Session
from ..texts import output


def tell(moments: Moments) -> Iterator[Session]:
    yield _code_blocks(moments)
    yield _contributor_guide(moments)


def _code_blocks(moments: Moments) -> Session:
    """7h2mx: in the middle of its first turn, reading."""
    story = Session(moments, "7h2mx", "12:29:10", project=Project("docs-site"), model=GLM, interactive=False)
    story.at("12:29:16").prompt("Check that every code block in the guides still compiles")
    story.think(
        "make check does that for all at once and stops at the first error. One guide at a time tells more."
    )
    story.say("I go through the guides one by one.")
    story.run("ls guides/*.md", output("docs-site", "list"), took=0.1)
    for guide, took in (("start", 14.2), ("paging", 12.8)):
        story.read(f"guides/{guide}.md")
        story.think(f"One block in {guide}.md.")
        story.run(f"make check FILE=guides/{guide}.md", output("docs-site", f"{guide} compiles"), took=took)
    story.read("guides/errors.md")
    story.run("make check FILE=guides/errors.md", output("docs-site", "errors fails"), 2, took=13.1)
    story.find("NotFound")
    story.say(
        "The types of the client were not built yet. webhooks.md builds them; I come back to errors.md then."
    )
    story.read("guides/webhooks.md")
    story.run("make check FILE=guides/webhooks.md", output("docs-site", "webhooks compiles"), took=12.5)
    story.run("make check FILE=guides/errors.md", output("docs-site", "errors compiles"), took=13)
    story.think("It compiles now. Authentication is the long one: four kinds, four blocks each.")
    story.read("guides/authentication.md:1-60")
    story.run(
        "make check FILE=guides/authentication.md BLOCKS=1-8", output("docs-site", "auth compiles"), took=38
    )
    story.at("12:34:58").read("guides/authentication.md:60-120")
    story.at("12:35:13.0").tool(
        "read_files", {"files": [story.project.read("guides/authentication.md:120-188")[0]]}, None
    )
    return story


def _contributor_guide(moments: Moments) -> Session:
    """rg62z: a hook of the person's has a word after every edit."""
    story = Session(moments, "rg62z", "-1d 17:26:31", project=Project("docs-site"), model=HAIKU, base=24_000)
    story.at("-1d 17:26:52").prompt("Update the contributor guide for the new test command")
    story.read("CONTRIBUTING.md")
    with story.together():
        story.edit(
            "CONTRIBUTING.md",
            "2. Run `make check`. It needs Docker.\n",
            "2. Run `npm run check`. It needs nothing but Node.\n",
        )
        story.edit(
            "CONTRIBUTING.md",
            "`make check` takes four minutes.\nUse `make check FILE=guides/start.md` for one guide.\n",
            "`npm run check` takes forty seconds.\nUse `npm run check -- guides/start.md` for one guide.\n",
        )
    story.hook("One sentence a line: CONTRIBUTING.md keeps to it.", "PostToolUse", "editor")
    story.run("npm run check", output("docs-site", "check"), took=41)
    story.at("-1d 17:29:40").say("The guide names `npm run check` in both places, and all 20 blocks compile.")
    return story.end("completed", "-1d 17:30:11")
