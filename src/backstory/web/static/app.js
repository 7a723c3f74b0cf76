// The one script: keys, bodies on demand, copying, and the live stream. Pages work without it.
"use strict";
const $ = (query, root = document) => root.querySelector(query);
const $$ = (query, root = document) => [...root.querySelectorAll(query)];
const byId = (id) => document.getElementById(id);
const body = document.body;
let token = $("meta[name=token]").content;
body.classList.add("js");

const part = (html) => {
  const made = document.createElement("template");
  made.innerHTML = html;
  return made.content;
};
const say = (words) => { byId("announce").textContent = words; };
const announce = (() => {
  let last = 0, waiting = null;
  return (words) => {
    clearTimeout(waiting);
    const rest = Math.max(0, last + 10000 - Date.now());
    waiting = setTimeout(() => { last = Date.now(); say(words); }, rest);
  };
})();
const top_ = () => (byId("sticky") ? byId("sticky").offsetHeight : 0) + 8;

// Bodies on demand
async function load(link) {
  const slow = setTimeout(() => { link.textContent = link.textContent.replace(/Show( all)?/, "Loading"); }, 300);
  try {
    const answer = await fetch(link.href + (link.href.includes("?") ? "&" : "?") + "part=1");
    if (!answer.ok) throw new Error(answer.status);
    const made = part(await answer.text());
    const old = link.closest(".body");
    (old || link).replaceWith(made);
  } catch {
    link.textContent = "Could not load this. Try again";
  } finally {
    clearTimeout(slow);
  }
}
document.addEventListener("toggle", (event) => {
  const link = event.target.open && $(":scope > a.more", event.target);
  if (link) load(link);
}, true);

// Clicks
document.addEventListener("click", async (event) => {
  const at = (query) => event.target.closest(query);
  let found;
  if ((found = at("a.more"))) { event.preventDefault(); load(found); }
  else if ((found = at("[data-copy]"))) copy(found.dataset.copy, found);
  else if ((found = at("[data-link]"))) copy(here(found.dataset.link), found);
  else if ((found = at("[data-fetch]"))) copyFrom(found.dataset.fetch, found);
  else if (at("[data-close]")) at("dialog").close();
  else if ((found = at("#strip"))) { if (jump(found, event)) event.preventDefault(); }
  else if (at("#below")) { event.preventDefault(); toEnd(); }
  else if ((found = at("a[data-edge]")) && byId("chapters")) { event.preventDefault(); more(found); }
});
const here = (id) => location.origin + location.pathname + (byId("strip").dataset.steps > 200 ? "?at=" + encodeURIComponent(id) : "") + "#" + encodeURIComponent(id);
async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    if (from) {
      const words = from.textContent;
      from.textContent = "Copied";
      setTimeout(() => { from.textContent = words; }, 1200);
    }
    say("Copied");
  } catch { say("The browser did not let it be copied"); }
}
async function copyFrom(address, from) {
  const answer = await fetch(address);
  if (answer.ok) copy(await answer.text(), from);
}

// Filters act at once
document.addEventListener("change", (event) => {
  const form = event.target.closest("form.filters");
  if (!form) return;
  for (const field of form.elements) if (!field.value) field.disabled = true;
  form.submit();
});

// Steps, rows, prompts
const steps = () => $$("li.s, .list tbody tr[id], .hit").filter((one) => one.offsetParent !== null);
const current = () => $(".cur");
function go(one, quiet) {
  if (!one) return;
  const old = current();
  if (old) old.classList.remove("cur");
  one.classList.add("cur");
  const focus = $(":scope > details > summary, :scope > a, .c-title a", one) || one;
  if (focus === one) one.tabIndex = -1;
  focus.focus({ preventScroll: true });
  const box = one.getBoundingClientRect(), head = top_();
  const tall = Math.min(box.height, 120);
  if (box.top < head || box.top + tall > innerHeight - 40) scrollBy(0, box.top < head ? box.top - head : box.top + tall - innerHeight + 60);
  if (!quiet && one.id && one.matches("li.s")) history.replaceState(null, "", "#" + encodeURIComponent(one.id));
}
function move(by, among = steps()) {
  const now = among.indexOf(current());
  if (now >= 0) return go(among[Math.max(0, Math.min(among.length - 1, now + by))]);
  const first = among.findIndex((one) => one.getBoundingClientRect().top >= top_() - 4);
  go(among[by > 0 ? Math.max(first, 0) : Math.max(first - 1, 0)]);
}
function next(by, query) {
  const all = steps(), now = all.indexOf(current());
  for (let at = now + by; at >= 0 && at < all.length; at += by) if (all[at].matches(query)) return go(all[at]);
}
function prompt(by) {
  const turns = $$(".turn"), head = top_() + 4;
  const one = current(), seen = one && one.getBoundingClientRect();
  const mine = seen && seen.bottom > head && seen.top < innerHeight ? turns.indexOf(one.closest(".turn")) : -1;
  const scrolled = turns.findLastIndex((turn) => turn.getBoundingClientRect().top <= head);
  const at = mine >= 0 && (by > 0 || scrolled < 0) ? Math.max(mine, scrolled) : scrolled;
  const turn = turns[Math.max(0, Math.min(turns.length - 1, at + by))];
  if (turn) { scrollBy(0, turn.getBoundingClientRect().top - top_()); history.replaceState(null, "", "#" + turn.id); }
}
function open(one) {
  if (!one) return;
  const link = one.matches("tr, .hit") && $("a", one);
  if (link) return link.click();
  const details = $(":scope > details", one);
  if (details) details.open = !details.open;
}
function openAll() {
  const turn = $(".turn:has(.cur)") || $(".turn");
  const all = turn ? $$("li > details", turn) : [], some = all.some((one) => !one.open);
  for (const one of all) one.open = some;
}

// Keys
let before = "", timer;
document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select");
  if (event.key === "Escape") {
    if ($("dialog[open]")) $("dialog[open]").close();
    else if (field) field.blur();
    else for (const one of $$(".sheet")) one.closest("details").open = false;
    return;
  }
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = before + event.key;
  before = "";
  clearTimeout(timer);
  if (keys === "g" || keys === "v") {
    before = keys;
    timer = setTimeout(() => { before = ""; }, 1500);
    return;
  }
  const act = KEYS[keys];
  if (!act || (keys === "Enter" && event.target.closest("a, button, summary"))) return;
  if (act(event) !== false) event.preventDefault();
});
const visit = (address) => () => { location.href = address; };
const tab = (name) => () => { const link = $(`[data-tab=${name}]`); if (link) link.click(); };
const verdict = (value) => () => {
  const button = $(`.verdict [value=${value}]`) || $(".verdict [aria-pressed=true]");
  if (value === "none" || (button && button.ariaPressed !== "true")) button && (value !== "none" || button.ariaPressed === "true") && button.click();
};
const KEYS = {
  j: () => move(1), k: () => move(-1), n: () => prompt(1), p: () => prompt(-1),
  "]": () => next(1, ".p-failed, .p-failing"), "[": () => next(-1, ".p-failed, .p-failing"),
  o: () => open(current()), Enter: () => open(current()), O: openAll,
  d: () => { const link = $("[data-diff]"); if (link) link.click(); },
  c: () => { const text = current() && $(".sub, .prose", current()); if (text) copy(text.innerText); },
  y: () => { const button = current() && $("[data-fetch]", current()); if (button) button.click(); },
  l: () => { const one = current(); if (one && strip()) copy(here(one.id)); },
  v1: verdict("good"), v2: verdict("needs_work"), v3: verdict("bad"), v0: verdict("none"),
  f: () => { follow = !follow; say(follow ? "Following" : "Not following"); if (follow) toEnd(); },
  x: () => { const link = $(".tabs .group a[href*='show=problems']"); if (link) link.click(); },
  "/": () => $(".find input").select(),
  gs: visit("/"), gu: visit("/usage"), gm: visit("/memory"), ge: visit("/setup"),
  t: tab("timeline"), h: tab("changes"), $: tab("cost"), i: tab("facts"),
  u: () => { location.href = sessionStorage.getItem("list") || "/"; },
  "?": sheet,
};
async function sheet() {
  let box = byId("sheet");
  if (!box) {
    box = document.createElement("dialog");
    box.id = "sheet";
    box.setAttribute("aria-labelledby", "keys-title");
    body.append(box);
    box.append(part(await (await fetch("/keys")).text()));
  }
  if (!box.open) box.showModal();
}

// Back to the list at the same row
if (body.matches(".page-sessions")) {
  sessionStorage.setItem("list", location.href);
  const kept = sessionStorage.getItem("row");
  if (kept && byId(kept)) go(byId(kept), true);
  addEventListener("click", (event) => {
    const row = event.target.closest("tr[id]");
    if (row) sessionStorage.setItem("row", row.id);
  });
}

// The strip
const strip = () => byId("strip");
function place(box, event) {
  const bars = +$("svg", box).dataset.bars, all = +box.dataset.steps;
  const bar = Math.floor(((event.clientX - box.getBoundingClientRect().left) / box.clientWidth) * bars);
  return Math.floor((bar * all) / bars) + 1;
}
const nth = (n) => $(`li.s[data-n="${n}"]`);
function jump(box, event) {
  const n = place(box, event), one = nth(n);
  if (event.clientY - box.getBoundingClientRect().top < 18) return false;
  if (one) go(one);
  else location.href = (byId("chapters") ? location.pathname : location.pathname.replace(/\/[a-z]+$/, "")) + "?at=" + n;
  return true;
}
document.addEventListener("pointermove", (event) => {
  const box = event.target.closest && event.target.closest("#strip");
  if (!box) return;
  const n = place(box, event), one = nth(n);
  const text = one && [$(".sub, .prose", one), $(".st", one)].filter(Boolean).map((each) => each.innerText.split("\n")[0].slice(0, 90)).join(", ");
  box.title = `Step ${n}${text ? ": " + text : ""}`;
});
function shade() {
  const box = strip();
  if (!box || !byId("chapters")) return;
  const seen = $$("li.s[data-n]").filter((one) => {
    const rect = one.getBoundingClientRect();
    return one.dataset.n && rect.height && rect.bottom > top_() && rect.top < innerHeight;
  });
  const view = byId("stripview"), all = +box.dataset.steps;
  view.hidden = !seen.length;
  if (seen.length) {
    const low = +seen[0].dataset.n - 1, high = +seen[seen.length - 1].dataset.n;
    view.style.left = (100 * low) / all + "%";
    view.style.width = (100 * (high - low)) / all + "%";
  }
  const turn = $$(".turn").findLast((one) => one.getBoundingClientRect().top < innerHeight / 2);
  for (const link of $$(".outline [data-turn]")) link.toggleAttribute("aria-current", !!turn && link.dataset.turn === turn.dataset.turn);
}
let drawing = false;
const shadeSoon = () => {
  if (!drawing) { drawing = true; requestAnimationFrame(() => { drawing = false; shade(); looked(); }); }
};
addEventListener("scroll", shadeSoon, { passive: true });
addEventListener("resize", shadeSoon);

// More of a long session
async function more(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = 1;
  const page = new DOMParser().parseFromString(await (await fetch(link.href)).text(), "text/html");
  const later = link.dataset.edge === "later", fresh = $$("#chapters > *", page);
  const height = document.documentElement.scrollHeight, last = $("#chapters").lastElementChild, first = $("#chapters").firstElementChild;
  for (const one of later ? fresh : fresh.reverse()) {
    const same = one.id && byId(one.id);
    if (!same) later ? $("#chapters").append(one) : $("#chapters").prepend(one);
    else {
      const list = $("ol.steps", same), have = (step) => step.id && byId(step.id);
      const steps = $$(":scope > ol.steps > li", one).filter((step) => !have(step));
      later ? list.append(...steps) : list.prepend(...steps);
    }
  }
  const edge = $(`[data-edge=${link.dataset.edge}]`, page);
  if (edge) { link.replaceWith(edge); } else { link.parentNode.remove(); if (later) body.dataset.end = ""; }
  if (!later) scrollBy(0, document.documentElement.scrollHeight - height);
  shadeSoon();
}
const edges = new IntersectionObserver((seen) => { for (const one of seen) if (one.isIntersecting && one.target.dataset.edge === "later") more(one.target); }, { rootMargin: "600px" });
const watchEdges = () => { for (const one of $$("a[data-edge=later]")) edges.observe(one); };
new MutationObserver(watchEdges).observe(body, { childList: true, subtree: true });

// Where the address points
function arrive() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id) return;
  const one = byId(id);
  if (one && one.matches("li.s")) {
    for (let box = one.parentNode.closest("details"); box; box = box.parentNode.closest("details")) box.open = true;
    go(one, true);
    const details = $(":scope > details", one);
    if (details && new URLSearchParams(location.search).get("q")) details.open = true;
  } else if (!one && byId("chapters") && !new URLSearchParams(location.search).has("at")) {
    const query = new URLSearchParams(location.search);
    query.set("at", id);
    location.replace("?" + query + "#" + encodeURIComponent(id));
  }
}
addEventListener("hashchange", arrive);

// Live
let follow = false, unseen = 0, unseenFailed = 0;
const atEnd = () => scrollY + innerHeight >= document.documentElement.scrollHeight - 80;
function toEnd() { scrollTo(0, document.documentElement.scrollHeight); unseen = unseenFailed = 0; below(); }
function below() {
  const pill = byId("below");
  if (!pill) return;
  pill.hidden = !unseen;
  pill.textContent = `${unseen} new step${unseen === 1 ? "" : "s"} below`;
  if (unseenFailed) pill.append(Object.assign(document.createElement("span"), { textContent: `${unseenFailed} failed` }));
}
function looked() {
  for (const one of $$("li.s.new")) {
    const rect = one.getBoundingClientRect();
    if (rect.bottom > top_() && rect.top < innerHeight && !one.dataset.seen) {
      one.dataset.seen = 1;
      setTimeout(() => one.classList.remove("new"), 2000);
    }
  }
  if (unseen && atEnd()) { unseen = unseenFailed = 0; below(); }
}
function mergeSteps(list, fresh, first) {
  let before = null, added = 0, failed = 0;
  const known = new Set();
  for (const one of $$(":scope > li", fresh)) {
    known.add(one.id);
    const old = one.id && byId(one.id);
    if (!old) {
      one.classList.add("new");
      before ? before.after(one) : list.append(one);
      added += 1;
      if (one.matches(".p-failed, .p-failing")) failed += 1;
      before = one;
    } else {
      if (old.dataset.v !== one.dataset.v) {
        for (const details of $$("details", one)) {
          const row = details.closest(".s"), twin = row && byId(row.id), own = twin && $(":scope > details", twin);
          if (own && row.matches(".s") && $(":scope > details", row) === details) details.open = own.open || details.open;
        }
        if (old.classList.contains("cur")) one.classList.add("cur");
        if (one.matches(".p-failed, .p-failing") && !old.matches(".p-failed, .p-failing")) failed += 1;
        old.replaceWith(one);
        before = one;
      } else before = old;
    }
  }
  let past = false;
  for (const old of $$(":scope > li[id]", list)) {
    past = past || old.id === first || known.has(old.id);
    if (past && !known.has(old.id) && !old.classList.contains("gone")) {
      old.classList.add("gone");
      $(".row", old).append(Object.assign(document.createElement("span"), { className: "st label", textContent: "superseded" }));
    }
  }
  return [added, failed];
}
function changed(data) {
  if (data.facts && byId("facts-line")) byId("facts-line").replaceWith(part(data.facts));
  if (data.strip && strip()) { const shown = strip().className; strip().replaceWith(part(data.strip)); strip().className = shown; }
  if (data.outline && byId("chapters")) $(".outline").replaceChildren(part(data.outline));
  const count = $("[data-tab=timeline] span");
  if (count) count.textContent = data.steps;
  if (data.chapters && byId("chapters")) {
    const stay = follow || atEnd(), whole = "end" in body.dataset && !new URLSearchParams(location.search).has("show");
    let added = 0, failed = 0;
    for (const one of [...part(data.chapters).children]) {
      const same = one.id && byId(one.id);
      if (same) {
        const [more_, bad] = mergeSteps($("ol.steps", same), $("ol.steps", one), data.first);
        added += more_;
        failed += bad;
        const head = $(".tmeta", same), fresh = $(".tmeta", one);
        if (head && fresh && !$("[open]", head)) head.replaceWith(fresh);
      } else if (whole) {
        for (const step of $$("ol.steps > li", one)) step.classList.add("new");
        added += $$("li.s", one).length || 1;
        byId("chapters").append(one);
      } else if (one.matches(".turn")) added += $$("li.s", one).length;
    }
    if (added) announce(`${added} new step${added === 1 ? "" : "s"}${failed ? `, ${failed} failed` : ""}`);
    if (stay && whole) toEnd();
    else { unseen += added; unseenFailed += failed; below(); }
  }
  shadeSoon();
}
const newSessions = new Set();
function listChanged(data) {
  byId("counts").textContent = data.counts.trim();
  const cards = byId("cards"), were = new Set($$(".card").map((one) => one.dataset.n));
  if (cards) { cards.replaceChildren(part(data.cards)); cards.hidden = !cards.children.length; }
  for (const [n, html] of data.rows) {
    const old = byId("s-" + n);
    const made = document.createElement("tbody");
    made.innerHTML = html;
    const row = made.firstElementChild;
    if (old) {
      if (old.classList.contains("cur")) row.classList.add("cur");
      if (old.innerHTML !== row.innerHTML && !old.matches(":hover, :focus-within")) old.replaceWith(row);
    } else if (were.has(String(n)) && $(".list .day")) $(".list .day").after(row);
    else newSessions.add(n);
  }
  const note = byId("arrived");
  if (note) {
    note.hidden = !newSessions.size;
    note.replaceChildren(Object.assign(document.createElement("a"), { href: location.href, textContent: `${newSessions.size} new session${newSessions.size === 1 ? "" : "s"}` }));
  }
}
function listen() {
  const address = body.dataset.live;
  if (!address || !window.EventSource) return;
  let source, again, wait = 500, last = "";
  const state = byId("capture");
  const leave = () => {
    clearTimeout(again);
    if (source) source.close();
    source = null;
  };
  const connect = () => {
    if (source || document.hidden) return;
    source = new EventSource(address + (last ? (address.includes("?") ? "&" : "?") + "last=" + last : ""));
    source.addEventListener("hello", (event) => {
      wait = 500;
      const data = JSON.parse(event.data);
      token = data.token;
      state.replaceChildren(part(data.capture));
      for (const field of $$("input[name=token]")) field.value = token;
    });
    source.addEventListener("change", (event) => {
      last = event.lastEventId;
      const data = JSON.parse(event.data);
      if (state && data.capture) state.replaceChildren(part(data.capture));
      // What was drawn while the first pass went on is drawn anew when it is over, on the list with its first session.
      if ($("[data-first]") && (data.rows ? data.rows.length || data.cards.trim() : !$("progress", state))) location.reload();
      else byId("counts") ? listChanged(data) : changed(data);
    });
    source.onerror = () => {
      leave();
      state.replaceChildren(part('<span class="fail" title="Backstory has stopped. backstory up starts it; this page catches up by itself.">stopped</span>'));
      again = setTimeout(connect, wait);
      wait = Math.min(wait * 2, 10000);
    };
  };
  connect();
  // A browser has six connections to one address: a page that nobody sees lets its own go, and catches up when it is seen.
  addEventListener("visibilitychange", () => { document.hidden ? leave() : connect(); });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", connect);
}
setInterval(() => {
  for (const one of $$("[data-since]")) {
    const seconds = Math.max(0, Math.round((Date.now() - one.dataset.since) / 1000));
    const words = seconds < 60 ? `${seconds} s` : seconds < 3570 ? `${Math.round(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h ${String(Math.round((seconds % 3600) / 60)).padStart(2, "0")}`;
    one.textContent = one.matches(".work *") ? `running for ${words}` : words;
  }
}, 1000);

// Work that goes on in the server
setInterval(async () => {
  const one = $("[data-poll]"), answer = one && await fetch(one.dataset.poll).catch(() => 0);
  if (answer) answer.status === 204 ? location.reload() : one.replaceChildren(part(await answer.text()));
}, 1000);

arrive();
watchEdges();
shadeSoon();
listen();
