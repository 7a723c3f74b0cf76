"""The sessions of billing-worker: a job that ran twice, a queue that was forked, retries that met a 401."""

from __future__ import annotations

from collections.abc import Iterator

from ..models import QWEN, SONNET
from ..moments import Moments
from ..project import Project
from ..session import Session
from ..texts import output

SCHEDULE, INVOICE, WORKER = "src/jobs/schedule.ts", "src/jobs/invoice.ts", "src/worker.ts"


def tell(moments: Moments) -> Iterator[Session]:
    yield _twice(moments)
    yield from _own_process(moments)
    yield _retries(moments)
    yield _where_to_queue(moments)


def _twice(moments: Moments) -> Session:
    """w0c4r: found, reproduced, mended and written down, in four prompts."""
    story = Session(
        moments,
        "w0c4r",
        "10:32:03",
        project=Project("billing-worker"),
        model=SONNET,
        surface="vscode",
        base=62_800,
    )
    _look(story)
    _reproduce(story)
    _mend(story)
    _write_down(story)
    return story.end("completed", "11:20:40")


def _look(story: Session) -> None:
    story.at("10:32:09").prompt("Why does the invoice job run twice on the last day of the month?")
    story.think(
        "Either two timers, or one timer and something that starts the job again. I look for who adds it."
    )
    story.find(r'add\("invoice"')
    story.read(WORKER, SCHEDULE, INVOICE)
    history = output("billing-worker", "history of the job")
    story.run(f"git log -p -- {INVOICE}", history * 40, took=0.4)
    story.read("src/queue/memory.ts", "src/queue/index.ts")
    log = "grep -h invoices /var/log/worker/2026-10-31.log"
    story.run(log, output("billing-worker", "runs in the log"), took=0.1)
    story.at("10:36:40").say(
        "Because of `catchUp`. On the last day of a month it starts the job as soon as the worker starts, unless it "
        "ran that day already. The worker was deployed at 10:12, and the job is due at 23:55: nothing was missed, but "
        "it ran, for 398 accounts. At 23:55 it ran again, for all 412."
    )


def _reproduce(story: Session) -> None:
    test = "test/invoice-clock.test.ts"
    command = "npm test -- invoice-clock"
    story.at("10:41:15").prompt("reproduce it with a frozen clock")
    story.find("setSystemTime", "lastRun")
    story.read("test/queue.test.ts")
    story.create(test, _CLOCK_TEST)
    story.run(command, output("billing-worker", "clock test fails"), 1, took=2.2)
    story.think(
        "It fails for the right reason: catchUp asks whether today is the day, and not whether it is time yet."
    )
    story.read(f"{SCHEDULE}:18-26")
    story.edit(
        SCHEDULE,
        "  if (isLastDay(now) && last?.toDateString() !== now.toDateString()) {",
        "  const due = dueOn(now);\n  if (isLastDay(now) && now >= due && (!last || last < due)) {",
    )
    story.edit(
        SCHEDULE,
        "export function every(",
        "function dueOn(day: Date): Date {\n"
        "  const due = new Date(day);\n"
        "  due.setHours(23, 55, 0, 0);\n"
        "  return due;\n"
        "}\n\nexport function every(",
    )
    story.run(command, output("billing-worker", "clock test passes"), took=2.0)
    story.run("git stash list", "", took=0.1)
    story.at("10:48:30").say(
        "Reproduced, and gone once `catchUp` waits for 23:55. That is the small fix. The real fault is that the time "
        "stands in two places now: as a cron line in `worker.ts`, and as 23:55 in `schedule.ts`."
    )


def _mend(story: Session) -> None:
    command = "npm run typecheck"
    story.at("10:58:02").prompt("fix it, and make the schedule explicit")
    question = {
        "question": "A run that was missed on the last evening is seen on the first. Should it be caught up then?",
        "options": ["Yes, for a day", "Yes, always", "No, tell somebody"],
    }
    story.tool("ask_question", question, "Yes, for a day", took=41)
    story.create("src/jobs/due.ts", _DUE)
    story.edit(
        SCHEDULE,
        "export function every(cron: string, run",
        "export function every(cron: Schedule, run",
        took=0.3,
    )
    story.run(command, output("billing-worker", "types fail"), 2, took=5.4)
    cron = 'every("55 23 28-31 * *", () => queue.add("invoice", { month: new Date().getMonth() }));'
    with story.together():
        story.edit(WORKER, cron, 'every(INVOICES, () => queue.add("invoice", { month: INVOICES.month() }));')
        story.edit(INVOICE, "started on its last evening. */", "started by `INVOICES` of `due.ts`. */")
    story.run(command, output("billing-worker", "types pass"), took=5.1)
    story.run("npm test", output("billing-worker", "all pass"), took=8.4)
    story.at("11:06:10").say(
        "`src/jobs/due.ts` says when invoices are due and how long a missed run may be caught up; the timer and "
        "`catchUp` both ask it. 58 tests pass."
    )


def _write_down(story: Session) -> None:
    story.at("11:15:31").prompt("write it down for the next one who looks, like the others in docs/incidents")
    story.read("docs/incidents/README.md")
    story.create("docs/incidents/2026-10-31-two-invoice-runs.md", _INCIDENT)
    story.run("git status --short", output("billing-worker", "status"), took=0.1)
    story.at("11:20:02").say("Written down. Nothing is committed: six files wait for you.")


def _own_process(moments: Moments) -> Iterator[Session]:
    """ysn27 was stopped by the person, m9lz0 went on from its first thirteen steps."""
    story = Session(
        moments,
        "ysn27",
        "08:20:11",
        project=Project("billing-worker"),
        model=SONNET,
        surface="vscode",
        branch="queue-process",
        base=84_100,
    )
    _split(story)
    fork = story.fork("m9lz0", "08:42:31")
    _inline(fork)

    story.at("09:27:44").injected("[TASK RESUMPTION] Please continue where you left off.")
    queue, run = "src/queue/index.ts", "  run(): Promise<void>;"
    story.at("09:28:20").edit(
        queue, "  start(): Promise<void>;", "  start(): Promise<void>;\n  close(): Promise<void>;"
    )
    story.at("09:28:51").edit(queue, run, f"{run}\n  close(): Promise<void>;")
    yield story.end("cancelled", "09:31:05")
    yield fork


def _split(story: Session) -> None:
    story.at("08:20:17").prompt("Split the queue into its own process", "plan")
    story.think("Jobs live in the memory of the worker. A second process needs a way to hand jobs over.")
    story.read("src/queue/index.ts", "src/queue/memory.ts", WORKER)
    story.find(r"queue\.")
    story.at("08:23:02").say(
        "1. `src/queue/process.ts` owns the jobs and listens on a socket.\n"
        "2. The worker adds jobs through it and asks for the next one.\n"
        "3. `npm run queue` starts it."
    )
    story.at("08:27:40").prompt("go")
    story.create("src/queue/process.ts", _PROCESS)
    story.edit(
        WORKER,
        "const queue = new MemoryQueue();",
        'const queue = connect(process.env.QUEUE ?? "queue.sock");',
    )
    story.run("npm test -- queue", output("billing-worker", "queue passes"), took=1.9)
    story.edit(
        "package.json",
        '    "test": "vitest run",',
        '    "queue": "tsx src/queue/process.ts",\n    "test": "vitest run",',
    )
    story.run("npm run queue -- --check", "queue.sock is free\n", took=0.9)


def _inline(fork: Session) -> None:
    fork.meter.context += 20_100  # The person has opened more files; the extension sends their text along.
    fork.at("08:44:10").prompt(
        "Keep it in the worker when QUEUE is inline, so that tests need no second process."
    )
    fork.edit(
        "test/queue.test.ts",
        'import { MemoryQueue } from "../src/queue/memory";',
        'import { open } from "../src/queue/open";\nimport { MemoryQueue } from "../src/queue/memory";',
    )
    fork.create("src/queue/open.ts", _OPEN)
    fork.run("npm test -- queue", output("billing-worker", "queue passes"), took=1.8)
    fork.edit(WORKER, 'connect(process.env.QUEUE ?? "queue.sock")', 'open(process.env.QUEUE ?? "inline")')
    fork.run("npm run typecheck", output("billing-worker", "types pass"), took=5.0)
    fork.run("npm test", output("billing-worker", "all pass"), took=8.1)
    fork.at("09:01:20").say(
        "`QUEUE=inline` keeps the queue in the worker, and is the default until you say otherwise."
    )
    fork.end("completed", "09:02:12")


def _retries(moments: Moments) -> Session:
    """8mynx: the provider refuses the key before anything was changed."""
    story = Session(
        moments,
        "8mynx",
        "09:09:40",
        project=Project("billing-worker"),
        model=SONNET,
        interactive=False,
        base=18_300,
    )
    story.at("09:09:44").prompt("Add retries to the webhook sender")
    story.run("npm run worker", output("billing-worker", "worker refused"), 1, took=3.4)
    story.run("docker compose up -d --wait broker", " Container broker-1  Healthy\n", took=11.2)
    story.run("npm run worker", output("billing-worker", "worker runs"), took=2.6)
    story.read("src/webhooks/sender.ts")
    story.at("09:12:03").provider_error("401 invalid x-api-key")
    return story.end("failed", "09:12:04")


def _where_to_queue(moments: Moments) -> Session:
    """q6f1s: a question to a model on this machine, four weeks ago."""
    story = Session(moments, "q6f1s", "-27d 10:55:12", project=Project("billing-worker"), model=QWEN)
    story.at("-27d 10:55:30").prompt("Should the worker keep its queue in redis or in postgres?", "plan")
    story.read("src/queue/memory.ts", "src/jobs/invoice.ts")
    url = "https://docs.example.org/postgres/select-for-update.html"
    asked = {"requests": [{"url": url, "prompt": "What does SKIP LOCKED guarantee?"}]}
    page = (
        f"URL: {url}\nContent-Type: text/html\nSize: 20481 bytes\n\n--- Content ---\nRows that cannot be locked at "
        "once are skipped. This suits tables that work like a queue and are read by several consumers.\n\n"
        "--- Analysis Request ---\nPrompt: What does SKIP LOCKED guarantee?"
    )
    story.tool("fetch_web_content", asked, [{"query": url, "result": page, "success": True}], took=1.3)
    broken = "https://docs.example.org/redis/streams"
    error = {
        "query": broken,
        "result": "",
        "error": "Error fetching web content: HTTP 404: Not Found",
        "success": False,
    }
    story.tool(
        "fetch_web_content", {"requests": [{"url": broken, "prompt": "Delivery guarantees?"}]}, [error]
    )
    story.at("-27d 11:01:30").say(
        "Postgres, for now: one thing less to run, and the volume is far below what it can take. `SKIP LOCKED` gives "
        "each worker rows of its own, and a job is gone only when the invoice is in the same transaction."
    )
    return story.end("completed", "-27d 11:02:20")


_CLOCK_TEST = """import { afterEach, expect, it, vi } from "vitest";
import { MemoryQueue } from "../src/queue/memory";
import { catchUp } from "../src/jobs/schedule";
import { useDb } from "./db";

afterEach(() => vi.useRealTimers());

async function startedAt(time: string): Promise<number> {
  vi.useFakeTimers();
  vi.setSystemTime(new Date(time));
  const queue = new MemoryQueue();
  await catchUp(queue);
  return queue.size;
}

it("is not started in the morning of the last day", async () => {
  useDb({ lastRun: "2026-09-30T21:55:00Z" });
  expect(await startedAt("2026-10-31T09:12:07Z")).toBe(0);
});

it("is started when the evening was missed", async () => {
  useDb({ lastRun: "2026-09-30T21:55:00Z" });
  expect(await startedAt("2026-10-31T22:58:00Z")).toBe(1);
});
"""

_DUE = """/** When a job is due, and how long after that a missed run may be made up for. */
export interface Schedule {
  /** The moment on a given day, or null when it is not due that day. */
  on(day: Date): Date | null;
  /** Hours in which a missed run is caught up. */
  grace: number;
  /** The month that a run is about; 0 is January. */
  month(now?: Date): number;
}

export const INVOICES: Schedule = {
  on(day) {
    const next = new Date(day);
    next.setDate(day.getDate() + 1);
    if (next.getDate() !== 1) return null;
    const due = new Date(day);
    due.setHours(23, 55, 0, 0);
    return due;
  },
  grace: 24,
  month: (now = new Date()) => now.getMonth(),
};
"""

_INCIDENT = """# Invoices were written twice on 31 October

**Seen:** 398 accounts had two invoices for October; the first ones, from the morning, were voided by hand.

**Why:** the worker was deployed at 10:12 on the last day of the month. At its start it catches up jobs that were
missed, and took the job of that evening for one of them: it asked whether today is the day, not whether it is time.

**Changed:** `src/jobs/due.ts` says when invoices are due and for how long a missed run is caught up, and both the
timer and `catchUp` ask it. `test/invoice-clock.test.ts` freezes the clock in that morning.

**Not changed:** `insertInvoice` still takes a second invoice of the same month. A unique index would refuse it.
"""

_PROCESS = """import { createServer, connect as open, type Socket } from "node:net";
import { MemoryQueue } from "./memory";
import type { Queue } from "./index";

/** Owns the jobs, so that the worker can be restarted without losing any. */
export function serve(path: string): void {
  const queue = new MemoryQueue();
  createServer((socket: Socket) => {
    socket.setEncoding("utf8");
    socket.on("data", (line: string) => {
      const { name, job } = JSON.parse(line) as { name: string; job: object };
      queue.add(name, job);
      socket.write("ok\\n");
    });
  }).listen(path);
}

/** A queue that lives in the other process. */
export function connect(path: string): Queue {
  const socket = open(path);
  return {
    add: (name, job) => void socket.write(`${JSON.stringify({ name, job })}\\n`),
    on: (name, handler) => void socket.on(name, handler),
    run: () => new Promise((done) => socket.once("close", () => done())),
  };
}

if (process.argv[1]?.endsWith("process.ts")) serve(process.env.QUEUE ?? "queue.sock");
"""

_OPEN = """import type { Queue } from "./index";
import { MemoryQueue } from "./memory";
import { connect } from "./process";

/** `inline` keeps the jobs in this process; anything else is the path of a socket. */
export function open(where: string): Queue {
  if (where === "inline") return new MemoryQueue();
  return connect(where);
}

/** For tests: a queue of one's own, empty, and never shared. */
export function fresh(): Queue {
  return new MemoryQueue();
}

export function isInline(where: string | undefined): boolean {
  return (where ?? "inline") === "inline";
}

/** What to tell a person who asks where the jobs are. */
export function describe(where: string): string {
  return isInline(where) ? "in the worker" : `in the process behind ${where}`;
}
"""
