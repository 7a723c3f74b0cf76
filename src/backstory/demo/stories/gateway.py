"""The other sessions of api-gateway: a release, a search by two subagents, tests in CI, an imported plan."""

from __future__ import annotations

from collections.abc import Iterator

from ..models import GLM, SONNET, Price, Tokens
from ..moments import Moments, iso
from ..project import Project
from ..results import REJECTED, refused
from ..session import Session
from ..texts import output


def tell(moments: Moments) -> Iterator[Session]:
    yield _release(moments)
    yield _old_config(moments)
    yield _tests_in_ci(moments)
    yield _imported(moments)


def _release(moments: Moments) -> Session:
    """m3q7e: a skill run by a slash command; the person keeps the last two steps for themselves."""
    project = Project("api-gateway")
    project.files["package.json"] = project.files["package.json"].replace("2.7.0", "2.6.3")
    project.files["CHANGELOG.md"] = "# Changelog\n\n## Unreleased\n\n## 2.6.3\n\n- Faster start.\n"
    story = Session(moments, "m3q7e", "10:03:06", project=project, model=SONNET, base=37_500)
    story.at("10:03:21").prompt("/release")
    skill = output("api-gateway", "skill release")
    story.tool("skills", {"skill": "release"}, skill, took=0.02)
    story.run("git log --oneline v2.6.3..HEAD", output("api-gateway", "log since tag"), took=0.1)
    with story.together():
        story.edit("package.json", '"version": "2.6.3"', '"version": "2.7.0"')
        story.edit(
            "CHANGELOG.md",
            "## Unreleased",
            "## Unreleased\n\n## 2.7.0\n\n- Limits are read per tenant.\n- The drain job says how many requests it "
            "let go.\n- Upgrades of websockets count like requests.",
        )
    story.run("npm test", output("api-gateway", "release tests"), took=44)
    no = refused(REJECTED)
    push, publish = "git tag v2.7.0 && git push origin v2.7.0", "npm publish"
    story.at("10:06:20").tool("run_commands", {"commands": [push]}, no, took=9, error=True)
    story.at("10:06:40").tool("run_commands", {"commands": [publish]}, no, took=4, error=True)
    story.at("10:07:02").say(
        "Version and changelog are ready, and the suite passes. The tag and the package are yours: "
        f"`{push}`, then `{publish}`."
    )
    return story.end("completed", "10:07:40")


def _old_config(moments: Moments) -> Session:
    """av8gq: two subagents search side by side, then the list is put together."""
    project = Project("api-gateway")
    story = Session(moments, "av8gq", "-1d 20:08:51", project=project, model=GLM)
    story.at("-1d 20:09:05").prompt(
        "Find every place that still reads the old config file. Use two subagents, one for src, one for the rest."
    )
    story.find("loadLegacyConfig")
    with story.together():
        story.say("Five callers. Two subagents look at what each of them takes from the file.")
        system = "You read code and report. You do not edit."
        with story.agent("list what src/ takes from the old config", system) as one:
            one.find(r"limits|config\.port")
            one.read("src/boot.ts", "src/jobs/drain.ts", "src/ws/upgrade.ts")
            one.say(
                "boot.ts takes the port. drain.ts takes the names of the tenants. upgrade.ts takes `limit.ws`."
            )
        with story.agent("list what scripts/ and test/ take from the old config", system) as two:
            two.find("legacy")
            two.read("scripts/warm.ts", "test/e2e/health.test.ts")
            two.say("scripts/warm.ts takes the names of the tenants. The tests do not read the file.")
    story.say(
        "Four places read `gateway.ini`:\n\n| file | takes |\n| --- | --- |\n| `src/boot.ts` | the port |\n"
        "| `src/jobs/drain.ts` | tenant names |\n| `src/ws/upgrade.ts` | `limit.ws` |\n"
        "| `scripts/warm.ts` | tenant names |"
    )
    story.at("-1d 20:13:30").prompt("Which of them could take it from settings.ts already?")
    story.think("settings.ts knows redisUrl and limit. None of the four values is in it.")
    story.read("src/config/settings.ts", "src/config/legacy.ts")
    story.read("src/boot.ts", "src/ws/upgrade.ts:40-60", "package.json")
    story.find("settings")
    story.at("-1d 20:15:02").say(
        "None yet. `settings.ts` holds `redisUrl` and `limit`. Add `port` and `wsLimit` there, and only the tenant "
        "names are left in the ini file."
    )
    return story.end("completed", "-1d 20:15:40")


def _tests_in_ci(moments: Moments) -> Session:
    """c4t0p: weeks ago, tests that failed for want of Redis, until Compose was told to wait for it."""
    project = Project("api-gateway")
    project.files["package.json"] = project.files["package.json"].replace("2.7.0", "2.6.3")
    redis = '  redis:\n    image: redis:7\n    ports: ["6379:6379"]\n'
    project.files["compose.yaml"] = f"services:\n{redis}"
    story = Session(
        moments, "c4t0p", "-18d 13:02:11", project=project, model=SONNET, branch="ci/e2e", base=41_200
    )
    _no_redis(story)
    _own_redis(story)
    story.at("-18d 16:17:20").prompt("And the workflow?")
    story.edit(
        ".github/workflows/ci.yaml",
        "      - run: npm run e2e",
        "      - run: npm run e2e\n        timeout-minutes: 5",
    )
    story.run("npm run e2e", output("api-gateway", "compose passes"), took=4.4)
    story.at("-18d 16:19:40").say(
        "`npm run e2e` starts Redis by itself now, so the workflow needs nothing but a limit of five minutes."
    )
    return story.end("completed", "-18d 16:20:30")


def _no_redis(story: Session) -> None:
    story.at("-18d 13:02:30").prompt("Why do the e2e tests pass here and fail in CI?")
    story.think("The workflow runs npm run e2e right after npm test. Nothing in it starts Redis.")
    story.read(".github/workflows/ci.yaml", "compose.yaml", "test/e2e/health.test.ts")
    story.run("docker ps --format '{{.Names}} {{.Ports}}'", "redis-dev 0.0.0.0:6379->6379/tcp\n", took=0.3)
    story.at("-18d 13:03:40").say(
        "CI starts no Redis. The gateway connects lazily, so it goes down with the first request and not at boot. "
        "Here a container from another project, `redis-dev`, answers on 6379, and that is why it passes."
    )

    story.at("-18d 13:09:12").prompt("Can you see it without CI?")
    story.say("Yes: without that container.").run("docker stop redis-dev", "redis-dev\n", took=1.4)
    story.run("npm run e2e", output("api-gateway", "e2e fails"), 1, took=5.2)
    story.say("The same seven tests as in CI, with the same `ECONNREFUSED`.")


def _own_redis(story: Session) -> None:
    command = "docker compose up -d redis && npm run e2e"
    story.at("-18d 15:52:05").prompt("Then let the tests bring their own Redis, here and in CI.")
    story.run(command, output("api-gateway", "compose fails"), 1, took=4.1)
    story.think(
        "Started is not ready. The first six tests ran before Redis listened; a health check is missing."
    )
    with story.together():
        story.edit(
            "compose.yaml",
            '    ports: ["6379:6379"]\n',
            '    ports: ["6379:6379"]\n    healthcheck:\n      test: [CMD, redis-cli, ping]\n      interval: 1s\n'
            '      retries: 20\n    # Wait for it: docker compose up --wait\n    restart: "no"\n',
        )
        story.edit(
            "package.json",
            '    "e2e": "vitest run test/e2e",\n',
            '    "pree2e": "docker compose up --wait redis",\n    "e2e": "vitest run test/e2e",\n',
        )
    story.run(command, output("api-gateway", "compose passes"), took=9.6)
    story.at("-18d 15:55:30").say(
        "They pass. `ECONNREFUSED` came from tests that ran before Redis listened; Compose now waits until it answers."
    )


def _imported(moments: Moments) -> Session:
    """A plan from another tool, imported into Cline and carried on there."""
    counts = [Tokens(14, 310, 0, 16_200), Tokens(9, 120, 16_200, 2_100), Tokens(9, 480, 18_300, 900)]
    story = Session(
        moments,
        "0dXOZ",
        "-3d 11:20:00.0",
        project=Project("api-gateway"),
        model=SONNET,
        surface="desktop",
        title="Draft the migration from the session that ran in the terminal",
        base=37_900,
        tokens=counts,
    )
    _source(story)
    # The importer writes the id of a message last.
    story.messages = [{**{key: m[key] for key in m if key != "id"}, "id": m["id"]} for m in story.messages]
    story.at("-3d 15:39:10").prompt("Write the first two steps as migrations.", checkpoint=None)
    story.create("migrations/0007_limits.sql", _TABLE)
    story.create("migrations/0008_copy_limits.ts", _COPY)
    story.at("-3d 15:47:20").say(
        "Both are there. 0008 leaves rows alone that exist already, so it can run twice."
    )
    return story.end("completed", "-3d 15:48:05")


def _source(story: Session) -> None:
    """What the other tool had, with its own names of tools and no cost."""
    facts, project, cline = story.facts, story.project, story.model
    facts.mode, facts.trigger, facts.started, facts.spawn = "import", "claude-code", story.clock, False
    facts.prompt = "Plan how the limits get out of the ini file and into a table of their own."
    facts.more["importedFrom"] = {
        "tool": "claude-code",
        "sourceSessionId": story.ids.uuid(),
        "sourcePath": "/home/dev/.claude/projects/-home-dev-work-api-gateway/limits.jsonl",
        "importedAt": iso(story.moments("-3d 15:38:20")),
        "sourceProvider": "anthropic",
        "sourceModel": "claude-sonnet-4-5",
    }
    story.foreign, story.model = True, cline.with_price(Price(0, 0, 0, 0))
    story.user([{"type": "text", "text": facts.prompt}], message_id=story.ids.nano(21))
    story.think("Two readers and one writer. I look at the reader first.")
    path = project.path("src/config/legacy.ts")
    story.tool("Read", {"file_path": path}, project.files["src/config/legacy.ts"])
    story.tool("Bash", {"command": "grep -rn limits src | wc -l"}, "9")
    story.say("Three steps: a table `limits`, a copy of what the ini file has, then the readers one by one.")
    story.flush()
    story.foreign, story.model = False, cline


_TABLE = """-- One row a tenant and kind of limit; the ini file had one line each.
create table limits (
  tenant text not null,
  kind text not null,
  most integer not null check (most >= 0),
  since timestamptz not null default now(),
  primary key (tenant, kind)
);

create index limits_by_kind on limits (kind);
"""

_COPY = """import { readFileSync } from "node:fs";
import type { Client } from "pg";

const LINE = /^limit\\.(?<kind>[a-z]+)(?:\\.(?<tenant>.+))?=(?<most>\\d+)$/;

/** Copies the limits of the ini file; rows that exist already stay as they are. */
export async function up(db: Client, path = "gateway.ini"): Promise<number> {
  let copied = 0;
  for (const line of readFileSync(path, "utf8").split("\\n")) {
    const found = LINE.exec(line.trim());
    if (!found?.groups) continue;
    const { kind, tenant = "*", most } = found.groups;
    const result = await db.query(
      `insert into limits (tenant, kind, most)
       values ($1, $2, $3)
       on conflict do nothing`,
      [tenant, kind, Number(most)],
    );
    copied += result.rowCount ?? 0;
  }
  return copied;
}

export async function down(db: Client): Promise<void> {
  await db.query("delete from limits");
}
"""
