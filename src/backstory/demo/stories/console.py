"""The sessions of web-console: patches by a GPT model, a plan, pictures and mentions, two scripts, a team."""

from __future__ import annotations

from collections.abc import Iterator

from ..models import CODEX, DEEPSEEK, GLM, SONNET
from ..moments import Moments, iso
from ..project import Project
from ..results import compact
from ..session import Session
from ..texts import output

TABLE = "src/sessions/SessionTable.tsx"

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="
"""A picture of one grey pixel."""


def tell(moments: Moments) -> Iterator[Session]:
    yield _sortable(moments)
    yield _explained(moments)
    yield _pictures(moments)
    yield _scripts(moments)
    yield _team(moments)


def _sortable(moments: Moments) -> Session:
    """p81zd: several files in one patch, a patch that does not fit, and two failures that stay."""
    project = Project("web-console")
    story = Session(
        moments, "p81zd", "10:18:40", project=project, model=CODEX, branch="sortable-table", base=81_700
    )
    story.at("10:19:02").prompt("Make the session table sortable by any column", "plan")
    story.find("byName")
    story.read(TABLE, "src/sessions/rows.ts", "src/utils/compare.ts")
    story.at("10:21:15").say(
        "One compare function for all columns instead of `byName`, and a header that is a button. Values that are "
        "absent come last, in both directions."
    )
    story.at("10:24:02").prompt("Do it.")
    story.patch(_SORT_ADDED)
    story.patch(_TABLE_GUESSED)
    story.patch(_TABLE_PATCHED)
    story.run("npm test -- table", output("web-console", "table fails"), 1, took=3.8)
    story.patch(_TIDIED)
    story.at("10:33:40").say(
        "Columns sort, and the old `byName` is gone. One test still fails: absent values come first when the order "
        "is turned around."
    )
    story.at("10:37:08").prompt("Turn the order around without moving the absent ones, then lint.")
    story.patch(_ABSENT_LAST)
    story.run("npm test -- sort", output("web-console", "sort passes"), took=2.9)
    story.run("npm run lint", output("web-console", "lint fails"), 1, took=6.6)
    story.at("10:41:10").say(
        "The order is right now. Lint wants a key handler on the header; a `button` inside it would do. Shall I?"
    )
    return story.end("completed", "10:41:52")


def _explained(moments: Moments) -> Session:
    """csv8d: two questions in plan mode, with files named in the prompt."""
    project = Project("web-console")
    story = Session(moments, "csv8d", "-1d 21:42:31", project=project, model=GLM)
    session, token = "src/auth/session.ts", "src/auth/token.ts"
    story.at("-1d 21:42:50").prompt(
        f"Explain @{session} and @{token} to me", "plan", blocks=[story.file(session), story.file(token)]
    )
    story.think("Both files came along. The part that is not in them is who asks for the next token.")
    story.read("src/auth/refresh.ts")
    story.say(
        "A session is a token and the time it began, kept in `sessionStorage`, so each tab has its own. `token.ts` "
        "only shows what is in the token; the signature is checked by the server. `refresh.ts` asks for the next one."
    )
    story.at("-1d 21:43:30").prompt("What happens when the clock of the computer is wrong?", "plan")
    story.find("Date.now")
    story.at("-1d 21:44:04").say(
        "Then `currentSession` is wrong by as much: a clock that is ahead ends sessions early, one that is behind "
        "keeps a token that the server refuses. Comparing with the `Date` header of the last answer would mend both."
    )
    return story.end("completed", "-1d 21:44:31")


def _pictures(moments: Moments) -> Session:
    """klx20: a screenshot, files named in VS Code on Windows, and a block that no reader knows."""
    project = Project("web-console", "C:\\work")
    story = Session(
        moments, "klx20", "-5d 14:11:08", project=project, model=SONNET, surface="vscode", base=20_800
    )
    css = project.files["src/header.css"]
    screenshot = {"type": "image", "data": PIXEL, "mediaType": "image/png"}
    story.at("-5d 14:11:20").prompt(
        "Align the mark in the header like in this screenshot, 'src/header.css' (see below for file content)\n\n"
        f'<file_content path="src/header.css" workspace="web-console">\n{css}</file_content>\n\n'
        "<workspace_diagnostics>\nNo errors or warnings detected.\n</workspace_diagnostics>",
        blocks=[screenshot, story.file("src/Header.tsx")],
    )
    story.think(
        "The mark hangs six pixels low because of its margin; the row should centre its items instead."
    )
    story.edit(
        "src/header.css",
        "  height: 48px;\n}\n\n.header .mark {\n  margin-top: 6px;\n}\n",
        "  align-items: center;\n  height: 48px;\n}\n",
    )
    shot = project.path("docs/header.png")
    seen = [{"type": "text", "text": "Successfully read image"}, screenshot]
    story.tool("read_files", {"files": [{"path": shot}]}, [{"query": shot, "result": seen, "success": True}])
    story.say("The row centres its items now, and the margin is gone.")
    story.block(
        {"type": "media", "media": {"mediaType": "image/png", "data": PIXEL, "title": "header after"}}
    )
    story.at("-5d 14:15:30").prompt("", blocks=[screenshot])
    story.at("-5d 14:15:44").say("That is the dark scheme: the same rule holds there.")
    story.at("-5d 14:17:02").prompt(
        '<explicit_instructions type="new_rule">\nWrite the rule into .clinerules.\n</explicit_instructions>\n'
        "Rows centre their items; no margins for alignment."
    )
    story.create(
        ".clinerules/layout.md", "# Layout\n\nRows centre their items. Margins are for space, not to align.\n"
    )
    story.at("-5d 14:17:40").say("The rule is in `.clinerules/layout.md`.")
    return story.end("completed", "-5d 14:18:10")


def _scripts(moments: Moments) -> Session:
    """08nb3: Chinese and Hebrew, and characters that turn the direction around."""
    project = Project("web-console")
    story = Session(moments, "08nb3", "-2d 09:30:02", project=project, model=DEEPSEEK, branch="i18n")
    story.at("-2d 09:30:40").prompt(
        "把会话列表翻译成中文和希伯来文 (עברית)，并检查占位符 — 表头不要超过 12 个字符 👋",
        "yolo",
    )
    story.think("先看英文的文本，再逐条翻译；占位符 {when} 和 {amount} 必须保留。")
    story.read("locales/en.json")
    story.create("locales/zh.json", _ZH)
    story.create("locales/he.json", _HE)
    check = "npm run i18n:check"
    story.run(check, output("web-console", "i18n fails"), 1, took=1.1)
    story.edit("locales/zh.json", "开始于 { when }", "开始于 {when}")
    story.run(check, output("web-console", "i18n passes"), took=1.0)
    story.find("会话|שיחות")
    story.at("-2d 09:36:12").say(
        "已完成：中文和希伯来文各四条，占位符都在。\n\n"
        "העברית נכתבת מימין לשמאל, ולכן הסכום מוקף בתווי כיוון: \u2068{amount}\u2069.\n\n"
        "A name like `\u202efdp.txt` is drawn the other way round; the table should isolate names. ✅"
    )
    return story.end("completed", "-2d 09:36:40")


def _team(moments: Moments) -> Session:
    """edfz0: a lead and two teammates, one waited for, one that reports back later."""
    task = "write tests for the three exporters"
    prompt = f"spawn a team of agents for the following task: {task}"
    story = Session(
        moments,
        "edfz0",
        "-3d 10:14:20",
        project=Project("web-console"),
        model=SONNET,
        interactive=False,
        typed=f'<user_command slash="team">{prompt}</user_command>',
        base=20_600,
    )
    story.at("-3d 10:14:24").prompt(prompt)
    story.find("export function to")
    roles = {
        "tester": "You write tests for exporters.",
        "reader": "You read exporters and report their gaps.",
    }
    with story.together():
        story.say("Two teammates: one writes the tests, one reads for gaps.")
        for name, role in roles.items():
            spawned = compact({"agentId": name, "status": "spawned"})
            story.tool("team_spawn_teammate", {"agentId": name, "rolePrompt": role}, spawned, took=0.05)
    _runs(story)
    update = (
        "System-delivered teammate async run updates:\n- run_00001 (reader) -> completed iterations=2\n\n"
        "No teammate runs are currently in progress. Continue coordination using these updates."
    )
    story.injected(update)
    story.run("npm test -- export", output("web-console", "exporters pass"), took=2.7)
    story.create("docs/exports.md", _EXPORTS)
    story.at("-3d 10:21:50").say(
        "15 tests in three files pass. CSV does not quote: a comma or a line break in a value moves the columns, and "
        "the test for it says so. What each exporter does is in `docs/exports.md`."
    )
    return story.end("completed", "-3d 10:22:08")


def _runs(story: Session) -> None:
    tests, gaps = "write test/export for csv, json and markdown", "list what the exporters do not quote"
    with story.together():
        with story.teammate("tester", tests, waited_for=True) as tester:
            tester.read("src/export/csv.ts", "src/export/json.ts", "src/export/markdown.ts")
            for name in ("csv", "json", "markdown"):
                tester.create(f"test/export/{name}.test.ts", _EXPORT_TEST.replace("NAME", name))
            tester.say(
                "Three files, 15 tests. The one for a comma in CSV documents the fault and expects it."
            )
        with story.teammate("reader", gaps, waited_for=False) as reader:
            reader.find(r"join\(")
            reader.say(
                "CSV joins with commas and quotes nothing. Markdown does not escape `|`. JSON is sound."
            )
    run = {
        "id": "run_00001",
        "agentId": "reader",
        "status": "completed",
        "messagePreview": gaps,
        "priority": 0,
        "retryCount": 0,
        "maxRetries": 0,
        "startedAt": iso(story.clock),
        "endedAt": iso(reader.clock),
        "currentActivity": "completed",
        "resultSummary": {"textPreview": reader.last_text, "iterations": 2, "finishReason": "completed"},
    }
    story.tool("team_await_runs", {}, [run], took=max(0.2, (reader.clock - story.clock) / 1000))
    with story.together():
        for name in ("tester", "reader"):
            stopped = compact({"agentId": name, "status": "stopped"})
            story.tool("team_shutdown_teammate", {"agentId": name}, stopped, took=0.05)
    story.say("The tests are there. I wait for the last report.")


_SORT_ADDED = """*** Begin Patch
*** Add File: src/sessions/sort.ts
+import type { Row } from "./rows";
+
+export type Column = "name" | "started" | "state" | "cost";
+export type Order = "up" | "down";
+
+const STATES = ["running", "idle", "ended"];
+
+/** Compares two rows by a column; what is absent comes last. */
+export function by(column: Column, order: Order): (one: Row, other: Row) => number {
+  const sign = order === "up" ? 1 : -1;
+  return (one, other) => {
+    const [left, right] = [one[column], other[column]];
+    if (left === undefined) return 1;
+    if (right === undefined) return -1;
+    return sign * compare(column, left, right);
+  };
+}
+
+function compare(column: Column, left: string | number, right: string | number): number {
+  if (column === "state") return STATES.indexOf(String(left)) - STATES.indexOf(String(right));
+  if (typeof left === "number" && typeof right === "number") return left - right;
+  return String(left).localeCompare(String(right));
+}
*** Add File: test/sort.test.ts
+import { expect, it } from "vitest";
+import { by } from "../src/sessions/sort";
+
+const row = (name: string, cost?: number) => ({ id: name, name, started: 0, state: "idle" as const, cost });
+const names = (rows: { name: string }[]) => rows.map(({ name }) => name).join("");
+
+it("sorts by name", () => {
+  expect(names([row("b"), row("a")].sort(by("name", "up")))).toBe("ab");
+});
+
+it("turns the order around", () => {
+  expect(names([row("a"), row("b")].sort(by("name", "down")))).toBe("ba");
+});
+
+it("puts absent values last", () => {
+  expect(names([row("a"), row("b", 1)].sort(by("cost", "up")))).toBe("ba");
+});
*** End Patch"""

_TABLE_GUESSED = """*** Begin Patch
*** Update File: src/sessions/SessionTable.tsx
@@
-  const sorted = useMemo(() => [...rows].sort(byName), [rows]);
+  const [column, setColumn] = useState<Column>("started");
*** End Patch"""

_TABLE_PATCHED = """*** Begin Patch
*** Update File: src/sessions/SessionTable.tsx
@@
-import { byName } from "../utils/compare";
-import type { Row } from "./rows";
+import { useState } from "react";
+import type { Row } from "./rows";
+import { by, type Column, type Order } from "./sort";
@@
-  const sorted = [...rows].sort(byName);
+  const [column, setColumn] = useState<Column>("started");
+  const [order, setOrder] = useState<Order>("down");
+  const sorted = [...rows].sort(by(column, order));
+  const choose = (next: Column) => {
+    setOrder(next === column && order === "up" ? "down" : "up");
+    setColumn(next);
+  };
   return (
@@
-            <th key={column}>{column}</th>
+            <th key={column} onClick={() => choose(column)}>
+              {column}
+            </th>
*** End Patch"""

_TIDIED = """*** Begin Patch
*** Delete File: src/utils/compare.ts
*** Update File: src/sessions/rows.ts
*** Move to: src/sessions/row.ts
@@
-  cost?: number;
+  /** Dollars; absent when nobody recorded it. */
+  cost?: number;
*** Update File: src/sessions/sort.ts
@@
-import type { Row } from "./rows";
+import type { Row } from "./row";
*** End Patch"""

_ABSENT_LAST = """*** Begin Patch
*** Update File: src/sessions/sort.ts
@@
-    if (left === undefined) return 1;
-    if (right === undefined) return -1;
+    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
*** End Patch"""

_ZH = """{
  "sessions.title": "会话",
  "sessions.empty": "还没有会话。",
  "sessions.started": "开始于 { when }",
  "sessions.cost": "已记录 {amount}"
}
"""

_HE = """{
  "sessions.title": "שיחות",
  "sessions.empty": "אין עדיין שיחות.",
  "sessions.started": "התחילה {when}",
  "sessions.cost": "נרשמו \u2068{amount}\u2069"
}
"""

_EXPORT_TEST = """import { expect, it } from "vitest";
import * as exporter from "../../src/export/NAME";

const [write] = Object.values(exporter);

it("writes nothing for no rows", () => {
  expect(write([])).toBeDefined();
});

it("names every column", () => {
  expect(write([{ name: "a", cost: 1 }])).toContain("cost");
});

it("keeps the order of rows", () => {
  const text = write([{ name: "first" }, { name: "second" }]);
  expect(text.indexOf("first")).toBeLessThan(text.indexOf("second"));
});

it("takes a comma in a value", () => {
  expect(write([{ name: "a, b" }])).toContain("a, b");
});
"""

_EXPORTS = """# Exports

| format | a comma | a line break | a pipe |
| --- | --- | --- | --- |
| CSV | moves the columns | breaks the row | kept |
| JSON | kept | escaped | kept |
| Markdown | kept | breaks the row | moves the columns |
"""
