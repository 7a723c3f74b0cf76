"""The samples of the terminal's specification, drawn from structs made by hand; other tests draw the same story."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from backstory.cli.bare import Overview, draw_empty, draw_overview
from backstory.cli.doctor import draw_findings
from backstory.cli.line import Line, View, plain
from backstory.cli.money import CENT, cost_of
from backstory.cli.search import draw_found, hint
from backstory.cli.sessions import draw_sessions
from backstory.cli.show import draw_session
from backstory.cli.timeline import Choice
from backstory.ledger.budget import Budget, Standing
from backstory.ledger.report import Figures
from backstory.schema.call import Call, Settled
from backstory.schema.record import Record
from backstory.schema.session import Actor, Agent, Checkpoint, Segment, Session, Totals, Turn
from backstory.schema.step import (
    Attachment,
    Command,
    Edit,
    Message,
    Origin,
    Other,
    Payload,
    Range,
    Read,
    Step,
    StepError,
)
from backstory.store.results import Brief, Cost, Day, Fate, Finding, Found, Hit, Listed, SessionHits


def at(clock: str, day: int = 30, month: int = 11) -> int:
    """Milliseconds of a time of the story, which is told in UTC."""
    hour, minute, *second = (int(part) for part in clock.split(":"))
    return int(datetime(2026, month, day, hour, minute, *second, tzinfo=UTC).timestamp() * 1000)


NOW = at("12:36:20")
VIEW = View(now=NOW, tz=UTC, home="/home/dev")
ROOT = "/home/dev/work/api-gateway"


def lines(drawn: Iterable[Line]) -> list[str]:
    """What was drawn, without styles."""
    return [plain(line) for line in drawn]


def text(drawn: Iterable[Line]) -> str:
    return "\n".join(lines(drawn)) + "\n"


def session(short: str, project: str | None, title: str | None, **more: Any) -> Session:
    totals = {name: more.pop(name) for name in Totals.__struct_fields__ if name in more}
    return Session(
        id=f"1796040242318_{short}",
        agent=Agent("cline"),
        project=project,
        title=title,
        cwd=f"/home/dev/work/{project}",
        totals=Totals(**totals),
        **more,
    )


def cost(unpriced: int = 0, **cents: int) -> Cost:
    """A cost by kind, in cents; the kinds that are named have a call each."""
    calls = {**dict.fromkeys(cents, 1), "unpriced": unpriced}
    return Cost(**{kind: amount * CENT for kind, amount in cents.items()}, calls=calls)


def listed(short: str, clock: str, project: str, title: str, *, day: int = 30, **more: Any) -> Listed:
    own = {
        name: more.pop(name)
        for name in ("state", "length", "unseen", "last_step", "error", "cost")
        if name in more
    }
    facts: dict[str, Any] = {"state": "ended", "length": None, "unseen": 0, "last_step": None, **own}
    when = at(clock, day)
    return Listed(session=session(short, project, title, **more), short_id=short, last_at=when, **facts)


LIST = [
    listed(
        "k3v9q",
        "12:36",
        "api-gateway",
        "Requests get a 500 when Redis is down. Let them through and log it once.",
        state="running",
        length=31 * 60_000,
        last_step=Brief("c9#0", "command", None, "npm test", "unknown", NOW - 14_000),
        steps=30,
        failed=6,
        failing=2,
        rejected=1,
        cost=cost(reported=53),
    ),
    listed(
        "7h2mx",
        "12:36",
        "docs-site",
        "Check that every code block in the guides still compiles",
        state="running",
        length=6 * 60_000,
        last_step=Brief(
            "r#0", "read", None, "/home/dev/work/docs-site/guides/authentication.md:120-188", "ok", NOW
        ),
        steps=22,
        failed=1,
        cost=cost(covered=6),
    ),
    listed(
        "w0c4r",
        "11:20",
        "billing-worker",
        "Why does the invoice job run twice on the last day of the month?",
        steps=39,
        failed=2,
        cost=cost(reported=192),
    ),
    listed(
        "p81zd",
        "10:41",
        "web-console",
        "Make the session table sortable by any column",
        steps=21,
        failed=2,
        failing=2,
        unseen=9,
        cost=cost(estimated=48),
    ),
    listed("m3q7e", "10:07", "api-gateway", "/release", steps=9, rejected=2, cost=cost(reported=22)),
    listed(
        "2js90",
        "09:58",
        "hello-service",
        "Rename the greeting in hello.py",
        steps=21,
        failed=4,
        failing=2,
        unseen=21,
        cost=cost(unpriced=7),
    ),
    listed(
        "ysn27",
        "09:31",
        "billing-worker",
        "Split the queue into its own process",
        state="interrupted",
        steps=16,
        failed=1,
        cost=cost(reported=87),
    ),
    listed(
        "8mynx",
        "09:12",
        "billing-worker",
        "Add retries to the webhook sender",
        state="error",
        error='401 {"type":"error","message":"invalid x-api-key"}',
        provider="anthropic",
        steps=6,
        failed=1,
        failing=1,
        unseen=6,
        cost=cost(reported=9),
    ),
    listed(
        "m9lz0",
        "09:02",
        "billing-worker",
        "Split the queue into its own process (fork)",
        steps=21,
        cost=cost(reported=98),
    ),
    listed(
        "csv8d",
        "21:44",
        "web-console",
        "Explain @src/auth/session.ts and @src/auth/token.ts",
        day=29,
        steps=7,
        cost=cost(covered=3),
    ),
    listed(
        "av8gq",
        "20:15",
        "api-gateway",
        "Find every place that still reads the old key",
        day=29,
        steps=15,
        cost=cost(covered=5),
    ),
    listed(
        "rg62z",
        "17:30",
        "docs-site",
        "Update the contributor guide for the new test command",
        day=29,
        steps=7,
        cost=cost(reported=4),
    ),
    listed(
        "hnrzu",
        "16:02",
        "hello-service",
        "Profile the cold start and cut it in half",
        day=29,
        steps=13,
        failed=1,
        failing=1,
        cost=cost(reported=17),
    ),
]
TODAY = cost(reported=461, estimated=48, covered=142, unpriced=7)
DAYS = {
    date(2026, 11, 30): Day(9, 26, TODAY, 1),
    date(2026, 11, 29): Day(4, 3, cost(reported=21, covered=8), 2),
}
PASSED = Standing(Budget("day", "all", "", 500 * CENT), 0, 0, Figures(), 509 * CENT, 600 * CENT)

SESSIONS = """\
   ID     LAST   PROJECT         TITLE                                  STEPS  FAILURES        COST

Today, Monday 30 November                     9 sessions  26 files  $4.61 reported  ~$0.48 estimated
●  k3v9q  12:36  api-gateway     Requests get a 500 when Redis is dow…     30  2 failing      $0.53
●  7h2mx  12:36  docs-site       Check that every code block in the g…     22  1 failed     covered
   w0c4r  11:20  billing-worker  Why does the invoice job run twice o…     39  2 failed       $1.92
▲  p81zd  10:41  web-console     Make the session table sortable by a…     21  2 failing     ~$0.48
   m3q7e  10:07  api-gateway     /release                                   9  2 rejected     $0.22
▲  2js90  09:58  hello-service   Rename the greeting in hello.py           21  2 failing   no price
◌  ysn27  09:31  billing-worker  Split the queue into its own process      16  1 failed       $0.87
✕  8mynx  09:12  billing-worker  Add retries to the webhook sender          6  1 failing      $0.09
   m9lz0  09:02  billing-worker  Split the queue into its own process…     21                 $0.98

Yesterday, Sunday 29 November                        4 sessions   3 files  $0.21 reported  2 covered
   csv8d  21:44  web-console     Explain @src/auth/session.ts and @sr…      7               covered
   av8gq  20:15  api-gateway     Find every place that still reads th…     15               covered
   rg62z  17:30  docs-site       Update the contributor guide for the…      7                 $0.04
▲  hnrzu  16:02  hello-service   Profile the cold start and cut it in…     13  1 failing      $0.17
"""

OVERVIEW = """\
1,284 sessions in ~/.backstory, up to date

Running now
  ● k3v9q  api-gateway     Requests get a 500 when Redis is down. Let them through a…  $0.53  31 min
           run  npm test, for 14 s                                                         2 failing
  ● 7h2mx  docs-site       Check that every code block in the guides still compiles  covered   6 min
           read guides/authentication.md:120-188                                            1 failed

Needs a look
  ▲ p81zd  web-console     Make the session table sortable by any column    2 failing   9 new  10:41
  ▲ 2js90  hello-service   Rename the greeting in hello.py                  2 failing  21 new  09:58
  ✕ 8mynx  billing-worker  Add retries to the webhook sender               401 from anthropic  09:12

Today  9 sessions  26 files                                    budget of the day passed: $5.09 of $5
       $4.61 reported  ~$0.48 estimated  $1.42 covered  7 calls without a price
"""

EMPTY = """\
No sessions yet.

Backstory looked in ~/.cline/data/sessions (the default place) and found none.
Use Cline once, or set CLINE_DIR where your sessions are.
"""


def test_sessions() -> None:
    assert text(draw_sessions(VIEW, LIST, DAYS)) == SESSIONS


def test_overview() -> None:
    looks = [LIST[3], LIST[5], LIST[7]]
    today = DAYS[date(2026, 11, 30)]
    found = Overview(1284, "/home/dev/.backstory", LIST[:2], looks, today, True, TODAY, [PASSED])
    assert text(draw_overview(VIEW, found)) == OVERVIEW


def test_overview_counts_what_it_leaves_out() -> None:
    found = Overview(9, "/home/dev/.backstory", LIST[:2] * 3, [LIST[3]] * 7, None)
    drawn = lines(draw_overview(VIEW, found))
    assert [line for line in drawn if line.endswith("more")] == ["    and 2 more", "    and 2 more"]


def test_nothing_yet() -> None:
    assert text(draw_empty(VIEW, [("/home/dev/.cline/data/sessions", "the default place")])) == EMPTY


class Story:
    """Puts a record together, step by step, as the conversation went."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.turns: list[Turn] = []
        self.actors = [Actor("root", "root", "lead", "k3v9q.messages.json")]
        self.fates: dict[str, Fate] = {}
        self.actor = "root"
        self.calls: list[Call] = []

    def call(self, cents: int, *, read: int = 0, fresh: int = 0, counted: bool = True) -> None:
        """A request of this turn whose cost was recorded; one that is not counted is a copy."""
        settled = Settled(counted, "reported", cents * CENT)
        name, turn = f"m{len(self.calls)}", f"t{len(self.turns)}"
        who = (name, "1796040242318_k3v9q", self.actor, turn, name)
        self.calls.append(
            Call(*who, None, "cline-cli", None, None, fresh, read, 0, 1, cents * CENT, (), settled)
        )

    def turn(self, clock: str, mode: str, prompt: str, ref: str | None = None, **more: Any) -> None:
        index = len(self.turns) + 1
        point = Checkpoint(ref + "0" * 33) if ref else None
        self.turns.append(Turn(f"t{index}", index, mode, 1, at(clock), point, ()))
        self.add(Message("user", prompt, **more), clock)

    def add(
        self,
        payload: Payload,
        clock: str | None = None,
        *,
        took: float = 0,
        error: tuple[str, str] | None = None,
        fate: Fate | None = None,
        **more: Any,
    ) -> Step:
        kinds = {Message: "message", Command: "command", Read: "read", Edit: "edit", Other: "other"}
        start = at(clock) if clock else (self.steps[-1].at if self.steps else None)
        facts: dict[str, Any] = {
            "decision": "n/a" if isinstance(payload, Message) else "auto",
            "decision_source": None,
            "outcome": "failed" if error else "ok",
            "content_status": "complete",
            "flags": (),
            **more,
        }
        step = Step(
            id=f"call_{len(self.steps)}#0",
            session_id="1796040242318_k3v9q",
            segment_index=1,
            turn_id=f"t{len(self.turns)}" if self.turns else None,
            actor_id=self.actor,
            seq=len(self.steps) + 1,
            at=start,
            ended_at=None if start is None else start + int(took * 1000),
            type=kinds[type(payload)],  # type: ignore[arg-type]
            error=StepError(error[1], error[0]) if error else None,  # type: ignore[arg-type]
            channels=("messages",),
            payload=payload,
            origin=Origin("k3v9q.messages.json", f"/messages/{len(self.steps)}"),
            **facts,
        )
        self.steps.append(step)
        if fate is not None:
            self.fates[step.id] = fate
        return step

    def record(self, of: Session) -> Record:
        return Record(
            of,
            (Segment(1, "start", None, at("12:04")),),
            tuple(self.actors),
            tuple(self.turns),
            tuple(self.steps),
            tuple(self.calls),
        )


SAYING = (
    "Three places change, and the public API stays as it is:\n\n- one\n- two\n- three\n\nThe rest stays,\n"
    "and nothing is pushed."
)
REPLACED = (
    "  async consume(key: string): Promise<Decision> {\n"
    "    const used = await this.redis.incr(key);\n"
    '    return used > this.limit ? "deny" : "allow";\n'
    "  }"
)
REPLACING = (
    "  async consume(key: string): Promise<Decision> {\n"
    "    try {\n"
    "      const used = await withTimeout(this.redis.incr(key), 250);\n"
    '      return used > this.limit ? "deny" : "allow";\n'
    "    } catch (error) {\n"
    '      logOnce("redis", error);\n'
    '      return "allow";\n'
    "    }\n"
    "  }"
)
SNIPPET = "-19:     const used = await this.redis.incr(key);\n+19:     try {"
FAILED = "\n".join(
    [f"line {n}" for n in range(1, 10)]
    + [
        " FAIL  test/limiter.test.ts > lets requests through when Redis is down",
        "AssertionError: expected log.warn to be called 1 time, but got 2 times",
        " ❯ test/limiter.test.ts:41:22",
    ]
    + [f"more {n}" for n in range(1, 7)]
)
MENDED = Fate(False, "call_11#0", 41_000, 1, (("src/limiter/log-once.ts", 1, 0),))
DENIED = (
    "The user denied this. The user provided the following feedback:\n"
    "<feedback>\nNot yet, I want to read it first.\n</feedback>"
)


def numbered(count: int) -> str:
    return "\n".join(f"{n} | line" for n in range(1, count + 1))


def story() -> Story:
    told = Story()
    tell_plan(told)
    tell_act(told)
    tell_agent(told)
    tell_suite(told)
    return told


def tell_plan(told: Story) -> None:
    told.turn(
        "12:04",
        "plan",
        "Requests get a 500 when Redis is down. Let them through and log it once. Plan first, don't edit anything yet.",
        "6d25840",
        attachments=(Attachment("file", f"{ROOT}/src/limiter/redis-limiter.ts", 2100),),
    )
    told.call(7, read=86)
    told.call(3, fresh=14)
    told.call(50, counted=False)
    told.add(
        Message(
            "thinking",
            "The limiter throws out of consume() when the socket is closed, and the middleware does not catch it.",
        ),
        took=4,
    )
    told.add(Read(f"{ROOT}/src/limiter/redis-limiter.ts", content=numbered(64)))
    told.add(
        Read(
            f"{ROOT}/src/middleware/rate-limit.ts",
            Range(1, 60),
            numbered(60) + "\n\n[Showing lines 1-60 of 91. Use start_line/end_line to read other sections.]",
        )
    )
    told.add(Read(f"{ROOT}/test/limiter.test.ts", content=numbered(58)))
    told.add(Read(f"{ROOT}/config/limits.yaml"), error=("not_found", "Error reading file: ENOENT"))
    found = "Found 3 results for pattern: x\n" + "".join(f"\n{name}.ts:1:1\n> 1: x\n" for name in "abc")
    told.add(Other("search_codebase", {"input": "limiter\\.consume\\(", "result": found}))
    told.add(Message("assistant", SAYING), "12:06")


def tell_act(told: Story) -> None:
    told.turn("12:07", "act", "Go ahead. Keep the public API of the limiter.", "a81c02e")
    told.call(17)
    ours = {"decision": "accepted", "decision_source": "settings"}
    limiter, once = f"{ROOT}/src/limiter/redis-limiter.ts", f"{ROOT}/src/limiter/log-once.ts"
    told.add(Edit(limiter, "replace", REPLACED, REPLACING, diff=SNIPPET, added=7, removed=2), **ours)
    told.add(Edit(once, "create", new_string="x\n" * 9, is_full_write=True, added=9), **ours)
    told.add(
        Command("npm test -- limiter", stdout=FAILED, exit_code=1),
        took=3.1,
        error=("exit_code", "Command exited with code 1"),
        fate=MENDED,
    )
    told.add(
        Edit(
            once,
            "replace",
            "{",
            "{\n  if (seen.has(key)) return;",
            diff="-7: \n+7:   if (seen.has(key)) return;",
            added=1,
        ),
        **ours,
    )
    told.add(Command("npm test -- limiter", stdout="ok\n Tests  14 passed (14)\n\n", exit_code=0), took=2.9)
    missing = ("tool", "Editor operation failed: No replacement performed: text not found in x.")
    limit = f"{ROOT}/src/middleware/rate-limit.ts"
    told.add(
        Edit(limit, "replace", "a", "b", added=1, removed=1),
        error=missing,
        fate=Fate(False, "call_15#0", 9000),
    )
    told.add(Edit(limit, "replace", added=3, removed=2), **ours)
    told.add(
        Command("git push --force-with-lease origin fix/rate-limit-redis"),
        error=("denied", DENIED),
        decision="rejected",
        decision_source="denial",
    )
    told.add(
        Message(
            "assistant",
            "Requests pass when Redis is away, and the first one says so in the log. 14 limiter tests pass. "
            "Nothing is pushed.",
        ),
        "12:10",
    )


def tell_agent(told: Story) -> None:
    told.turn(
        "12:19",
        "act",
        "Check that nothing else calls consume() without a timeout. Use a subagent, then run the load test.",
    )
    task = "list every caller of consume() without a timeout"
    spawn = told.add(Other("spawn_agent", {"input": {"task": task}, "result": {"text": "Five."}}), took=38)
    told.actors.append(
        Actor("agent_1", "subagent", "subagent", "agent_1.messages.json", task, at("12:19"), spawn.id)
    )
    told.call(13)
    told.actor = "agent_1"
    told.call(6)
    told.add(Message("user", task))
    found = "Found 7 results for pattern: x\n" + "".join(f"\n{name}.ts:1:1\n> 1: x\n" for name in "abcde")
    told.add(Other("search_codebase", {"input": "consume\\(", "result": found}))
    for path in ("src/jobs/drain.ts", "src/ws/upgrade.ts", "src/a.ts", "src/b.ts"):
        told.add(Read(f"{ROOT}/{path}", content=numbered(3)))
    told.add(Message("thinking", "src/ws/upgrade.ts:77 it is."))
    told.add(
        Message(
            "assistant",
            "Five callers. src/ws/upgrade.ts:77 awaits without a limit; the other four go through the middleware.",
        ),
    )
    told.actor = "root"
    told.add(
        Command("npm run bench -- --seconds 60"),
        took=30,
        error=("timeout", "Command timed out"),
        fate=Fate(True),
    )
    told.add(
        Command("npm run dev", stdout="gateway listening on 8080\n", output_ref="/tmp/x.log"),
        content_status="reference_only",
    )
    told.add(
        Other(
            "github__get_issue",
            {
                "input": {"number": 482},
                "result": {"content": [{"type": "text", "text": "Not Found"}], "isError": True},
            },
        ),
        took=0.8,
        error=("mcp", "Not Found"),
    )
    told.add(
        Message(
            "assistant",
            "One caller needs a limit of its own: the websocket upgrade. The load test did not\nfinish in 30 s.",
        ),
        "12:23",
    )


def tell_suite(told: Story) -> None:
    told.turn("12:33", "act", "Run the whole suite, then add a line to the changelog.")
    told.call(7)
    told.add(Command("npm run lint", stdout="0 problems", exit_code=0), took=6.2)
    failed = (
        " FAIL  test/e2e/health.test.ts > reports degraded, not down, without Redis\n"
        "Error: connect ECONNREFUSED 127.0.0.1:6379\n one\n two\n"
    )
    told.add(
        Command("npm test", stdout=failed, exit_code=1),
        took=48,
        error=("exit_code", "Command exited with code 1"),
        fate=Fate(True),
    )
    told.add(
        Edit(f"{ROOT}/CHANGELOG.md", "insert", new_string="- x", insert_line=5, added=1),
        decision="accepted",
        decision_source="settings",
    )
    told.add(Command("npm test"), "12:36:06", outcome="unknown")


def shown() -> tuple[Record, Listed, dict[str, Fate]]:
    told = story()
    own = session(
        "k3v9q",
        "api-gateway",
        "Requests get a 500 when Redis is down. Let them through and log it once.",
        branch="fix/rate-limit-redis",
        model="claude-sonnet-4-5",
        surface="vscode",
        workspace_root=ROOT,
        started_at=at("12:04"),
        turns=4,
        steps=30,
        failed=6,
        failing=2,
        rejected=1,
        edits=5,
        files=4,
        added=21,
        removed=4,
    )
    listed = Listed(own, "k3v9q", "running", NOW, 31 * 60_000, 0, None, cost=cost_of(told.calls))
    return told.record(own), listed, told.fates


SHOW = """\
Requests get a 500 when Redis is down. Let them through and log it once.
api-gateway, fix/rate-limit-redis   claude-sonnet-4-5   VS Code   1796040242318_k3v9q
30 Nov 12:04 to now, 31 min, running   4 prompts, 30 steps   6 failed, 2 still failing   1 rejected
4 files +21 −4   $0.53 reported   86 % of the input cached

1  Requests get a 500 when Redis is down. Let them through and log it once. Plan first, don't
   edit anything yet.
   plan   12:04   2 min   $0.10   checkpoint 6d25840   @src/limiter/redis-limiter.ts

   think  The limiter throws out of consume() when the socket is closed, and the middleware…     4 s
   read   src/limiter/redis-limiter.ts                                                      64 lines
   read   src/middleware/rate-limit.ts:1-60                                           60 of 91 lines
   read   test/limiter.test.ts                                                              58 lines
   read   config/limits.yaml                                                               not found
   find   limiter\\.consume\\(                                                    3 results in 3 files
   say    Three places change, and the public API stays as it is:                           +5 lines

2  Go ahead. Keep the public API of the limiter.
   act    12:07   3 min   $0.17   checkpoint a81c02e   3 files +20 −4

   edit   src/limiter/redis-limiter.ts  +7 −2                                           you approved
          18      async consume(key: string): Promise<Decision> {
          19  −     const used = await this.redis.incr(key);
          20  −     return used > this.limit ? "deny" : "allow";
          19  +     try {
          20  +       const used = await withTimeout(this.redis.incr(key), 250);
          21  +       return used > this.limit ? "deny" : "allow";
              …  5 more lines
   edit   src/limiter/log-once.ts  +9  new file                                         you approved
   run    npm test -- limiter                                                         exit 1   3.1 s
          …  6 lines above
          line 7
          line 8
          line 9
           FAIL  test/limiter.test.ts > lets requests through when Redis is down
          AssertionError: expected log.warn to be called 1 time, but got 2 times
           ❯ test/limiter.test.ts:41:22
          more 1
          more 2
          more 3
          more 4
          more 5
          more 6
          succeeded 41 s later, after 1 edit
   edit   src/limiter/log-once.ts  +1                                                   you approved
          6    {
          7  +   if (seen.has(key)) return;
   run    npm test -- limiter        Tests  14 passed (14)                            exit 0   2.9 s
   edit   src/middleware/rate-limit.ts                                   not applied: text not found
   edit   src/middleware/rate-limit.ts  +3 −2                                           you approved
   run    git push --force-with-lease origin fix/rate-limit-redis                    you rejected it
          you wrote: "Not yet, I want to read it first."
   say    Requests pass when Redis is away, and the first one says so in the log. 14 limiter
          tests pass. Nothing is pushed.

3  Check that nothing else calls consume() without a timeout. Use a subagent, then run the load
   test.
   act    12:19   4 min   $0.19

   agent  list every caller of consume() without a timeout                     8 steps  $0.06   38 s
   │ find   consume\\(                                                           7 results in 5 files
   │ read   src/jobs/drain.ts, src/ws/upgrade.ts, +2 more
   │ think  src/ws/upgrade.ts:77 it is.
   │ say    Five callers. src/ws/upgrade.ts:77 awaits without a limit; the other four go through
   │        the middleware.
   run    npm run bench -- --seconds 60                                             timed out   30 s
   run    npm run dev        gateway listening on 8080                         went on in background
   tool   github get_issue number=482        Not Found                            tool error   0.8 s
   say    One caller needs a limit of its own: the websocket upgrade. The load test did not  +1 line

4  Run the whole suite, then add a line to the changelog.
   act    12:33   3 min so far   $0.07   1 file +1

   run    npm run lint        0 problems                                              exit 0   6.2 s
   run    npm test                                                                    exit 1    48 s
           FAIL  test/e2e/health.test.ts > reports degraded, not down, without Redis
          Error: connect ECONNREFUSED 127.0.0.1:6379
           one
           two
          has not succeeded since
   edit   CHANGELOG.md  +1  inserted at line 5                                          you approved
   run    npm test                                                                    running   14 s
"""


def test_show() -> None:
    record, own, fates = shown()
    assert text(draw_session(VIEW, record, own, fates)) == SHOW


def test_show_one_prompt() -> None:
    record, own, fates = shown()
    drawn = text(draw_session(VIEW, record, own, fates, Choice(turn=4)))
    head, rest = SHOW.split("\n\n", 1)
    assert drawn == head + "\n\n4  Run" + rest.split("\n4  Run", 1)[1]


def test_show_problems() -> None:
    record, own, fates = shown()
    drawn = lines(draw_session(VIEW, record, own, fates, Choice(problems=True)))
    words = ("run", "edit", "read", "tool", "say", "find", "think")
    kinds = [line[3:10].strip() for line in drawn if line[3:10] in [word.ljust(7) for word in words]]
    assert kinds == ["read", "run", "edit", "run", "run", "tool", "run", "run"]
    assert [line[0] for line in drawn if line[1:3] == "  " and line[0].isdigit()] == ["1", "2", "3", "4"]


def test_show_without_thinking() -> None:
    record, own, fates = shown()
    drawn = text(draw_session(VIEW, record, own, fates, Choice(think=False)))
    assert "think" not in drawn
    assert drawn.count("\n") == SHOW.count("\n") - 2


def test_show_full() -> None:
    record, own, fates = shown()
    drawn = text(draw_session(VIEW, record, own, fates, Choice(full=True)))
    for words in (
        "line 1\n",
        "and nothing is pushed.",
        "the change it wanted:",
        "src/b.ts",
        "9  + x\n",
        "64 | line",
    ):
        assert words in drawn


FOUND = """\
8 hits in 3 sessions, best first

c4t0p  Why do the e2e tests pass here and fail in CI?                     api-gateway  12 Nov  $0.77
  3  run    docker compose up -d redis && npm run e2e                                         exit 0
            failed before with ECONNREFUSED; passed after compose.yaml +6, package.json +1
     3 more hits

k3v9q  Requests get a 500 when Redis is down. Let them through and log i…  api-gateway  12:36  $0.53
  4  run    npm test → Error: connect ECONNREFUSED 127.0.0.1:6379                             exit 1
  1  say    …the client rejects with ECONNREFUSED as soon as the socket is gone, before any…
  1  read   src/limiter/redis-limiter.ts:40-58 → case "ECONNREFUSED": return true;

8mynx  Add retries to the webhook sender                                billing-worker  09:12  $0.09
  1  run    npm run worker → ECONNREFUSED 127.0.0.1:5672, retrying in 2 s                     exit 1
"""


def found() -> Found:
    told = Story()
    told.turn("12:04", "act", "x")
    exit_1 = ("exit_code", "Command exited with code 1")
    compose = told.add(Command("docker compose up -d redis && npm run e2e", exit_code=1), error=exit_1)
    test = told.add(Command("npm test", exit_code=1), error=exit_1)
    say = told.add(Message("assistant", ""))
    read = told.add(Read(f"{ROOT}/src/limiter/redis-limiter.ts", Range(40, 58)))
    worker = told.add(Command("npm run worker", exit_code=1), error=exit_1)
    mended = Fate(False, "z#0", 60_000, 2, (("compose.yaml", 6, 0), ("package.json", 1, 0)))
    why = "Why do the e2e tests pass here and fail in CI?"
    first = listed("c4t0p", "14:20", "api-gateway", why, day=12, cost=cost(reported=77))
    long = (
        "…the client rejects with ECONNREFUSED as soon as the socket is gone, before any command is sent; so"
    )
    return Found(
        "ECONNREFUSED",
        8,
        3,
        (
            SessionHits(first, (hit(compose, 3, "out", "ECONNREFUSED", mended),), 3),
            SessionHits(
                LIST[0],
                (
                    hit(test, 4, "out", "Error: connect ECONNREFUSED 127.0.0.1:6379", Fate(True)),
                    hit(say, 1, "in", long),
                    hit(read, 1, "out", '      case "ECONNREFUSED": return true;'),
                ),
                0,
            ),
            SessionHits(LIST[7], (hit(worker, 1, "out", "ECONNREFUSED 127.0.0.1:5672, retrying in 2 s"),), 0),
        ),
        1284,
    )


def hit(step: Step, turn: int, part: str, passage: str, fate: Fate | None = None) -> Hit:
    start = passage.index("ECONNREFUSED")
    return Hit(step, turn, part, passage, ((start, start + 12),), 1, 1, fate)  # type: ignore[arg-type]


def test_search() -> None:
    assert text(draw_found(VIEW, found())) == FOUND
    assert hint(found()) == "backstory show c4t0p --turn 3 opens the first."


def test_search_marks_what_matched() -> None:
    marked = [span for line in draw_found(VIEW, found()) for span in line if span[1] == "hit"]
    assert marked == [("ECONNREFUSED", "hit")] * 5


def test_search_that_finds_nothing() -> None:
    nothing = Found("zebra", 0, 0, (), 1284)
    assert text(draw_found(VIEW, nothing)) == 'Nothing found for "zebra" in 1,284 sessions.\n'
    assert hint(nothing) is None


FINDINGS = [
    Finding("Cline", "ok", "installed: ~/.cline (default), VS Code extension storage"),
    Finding(
        "Cline",
        "ok",
        "sessions: ~/.cline/data/sessions  (default; CLINE_DIR, CLINE_DATA_DIR and CLINE_SESSION_DATA_DIR are not set)"
        "\t1,279 folders, 751 MB",
    ),
    Finding("Cline", "ok", "1,277 read whole"),
    Finding(
        "Cline",
        "look",
        "1 cut at the end, read up to message 212",
        ("1795998811020_d7k1u/1795998811020_d7k1u.messages.json\t4.1 MB",),
        "Cline may still be writing it. If it stays so, the record up to there is safe.",
    ),
    Finding(
        "Cline",
        "look",
        "1 not readable: permission denied",
        ("1795811200417_b0x3n/1795811200417_b0x3n.messages.json\t0.3 MB",),
        "chmod u+r it, then run backstory capture --once",
    ),
    Finding("Cline", "note", "1 plain file among the folders, ignored: sessions.index.json"),
    Finding(
        "Cline",
        "note",
        "2 kinds of content were not known and are kept as they are:",
        ("block:media (3 times), tool result without a call (1 time)",),
    ),
    Finding("Archive", "ok", "~/.backstory/archive.db, 212 MB, 0.28 of the source; integrity checked"),
    Finding("Archive", "note", "6 sessions are gone from Cline's folder and kept here"),
]

REPORT = """\
Cline
  ok    installed: ~/.cline (default), VS Code extension storage
  ok    sessions: ~/.cline/data/sessions  (default; CLINE_DIR, CLINE_DATA_DIR and
        CLINE_SESSION_DATA_DIR are not set)                                    1,279 folders, 751 MB
  ok    1,277 read whole
  look  1 cut at the end, read up to message 212
          1795998811020_d7k1u/1795998811020_d7k1u.messages.json                               4.1 MB
        Cline may still be writing it. If it stays so, the record up to there is safe.
  look  1 not readable: permission denied
          1795811200417_b0x3n/1795811200417_b0x3n.messages.json                               0.3 MB
        chmod u+r it, then run backstory capture --once
  note  1 plain file among the folders, ignored: sessions.index.json
  note  2 kinds of content were not known and are kept as they are:
          block:media (3 times), tool result without a call (1 time)

Archive
  ok    ~/.backstory/archive.db, 212 MB, 0.28 of the source; integrity checked
  note  6 sessions are gone from Cline's folder and kept here

2 things to look at, nothing lost.
"""


def test_doctor() -> None:
    assert text(draw_findings(VIEW, FINDINGS)) == REPORT


def test_doctor_counts_what_is_broken() -> None:
    broken = [Finding("Archive", "broken", "it cannot be opened"), FINDINGS[3]]
    assert lines(draw_findings(VIEW, broken))[-1] == "1 thing is broken, 1 to look at."
    assert lines(draw_findings(VIEW, FINDINGS[:1]))[-1] == "Nothing to look at, nothing lost."
