-- The archive: one SQLite file, append-only. What leaves the source is marked, never deleted, except by `forget`.
-- Times are UTC epoch milliseconds. `docs/archive.md` documents the views, which are public; the tables are not.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY
) WITHOUT ROWID;

-- One conversation. Everything that a list shows or filters by is a column; the rest is in `facts`.
CREATE TABLE session (
    n               INTEGER PRIMARY KEY,
    source          TEXT NOT NULL,
    id              TEXT NOT NULL,
    root            TEXT NOT NULL,              -- the real folder that it was found under
    generation      INTEGER NOT NULL DEFAULT 0, -- raised by every write; a writer that finds it moved reads again
    gone_at         INTEGER,                    -- when a pass no longer found it on disk
    surface         TEXT,
    title           TEXT,
    project         TEXT,
    cwd             TEXT,
    model           TEXT,
    status          TEXT,
    terminal_marker TEXT,
    started_at      INTEGER,
    ended_at        INTEGER,
    updated_at      INTEGER,
    changed_at      INTEGER,                    -- when its files were last written
    last_at         INTEGER,                    -- time of its last step
    length          INTEGER,                    -- active time, idle gaps left out
    first_id        TEXT,                       -- id of its first message: copies share it
    copied_from     TEXT,
    copied_kind     TEXT,
    copied_messages INTEGER,
    turns           INTEGER NOT NULL DEFAULT 0,
    steps           INTEGER NOT NULL DEFAULT 0,
    child_steps     INTEGER NOT NULL DEFAULT 0,
    failed          INTEGER NOT NULL DEFAULT 0,
    failing         INTEGER NOT NULL DEFAULT 0,
    rejected        INTEGER NOT NULL DEFAULT 0,
    edits           INTEGER NOT NULL DEFAULT 0,
    files           INTEGER NOT NULL DEFAULT 0,
    added           INTEGER NOT NULL DEFAULT 0,
    removed         INTEGER NOT NULL DEFAULT 0,
    last_step       INTEGER,                    -- the root's last step, for what is at work now
    open_call       INTEGER NOT NULL DEFAULT 0, -- 1 when that step is a call without a result
    error           TEXT,                       -- the provider error that it ended with
    row_count       INTEGER NOT NULL DEFAULT 0, -- step rows ever written
    seen_count      INTEGER NOT NULL DEFAULT 0, -- of these, shown to the reader
    UNIQUE (source, id)
);
CREATE INDEX session_last ON session (last_at);
CREATE INDEX session_first ON session (first_id);

CREATE TABLE session_facts (
    session INTEGER PRIMARY KEY REFERENCES session (n),
    zstd    BLOB NOT NULL                       -- the whole Session as JSON, manifest included
);

-- Every end that a manifest ever recorded: a resume removes it there, and it tells sittings apart.
CREATE TABLE seen_end (
    session INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, at)
) WITHOUT ROWID;

-- One file of a session. A messages file is one actor's conversation.
CREATE TABLE file (
    n           INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES session (n),
    name        TEXT NOT NULL,
    size        INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    actor       TEXT,
    actor_type  TEXT,
    label       TEXT,
    started_at  INTEGER,
    parent_step TEXT,                           -- id of the step that spawned the actor
    reader      INTEGER,                        -- version of the reader that read it; null for a manifest
    UNIQUE (session, name)
);

-- What a reader needs to go on: a digest a message, its own state, how well the file could be read.
CREATE TABLE file_state (
    file     INTEGER PRIMARY KEY REFERENCES file (n),
    state_at INTEGER NOT NULL,
    context  INTEGER NOT NULL,
    digests  BLOB NOT NULL,
    state    BLOB NOT NULL,
    task     TEXT,
    fidelity BLOB NOT NULL
);

CREATE TABLE turn (
    n              INTEGER PRIMARY KEY,
    file           INTEGER NOT NULL REFERENCES file (n),
    id             TEXT NOT NULL,
    msg            INTEGER NOT NULL,
    mode           TEXT,
    at             INTEGER,
    first_reply_at INTEGER,
    quiet          INTEGER,
    superseded     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (file, id)
);

-- One step. What it says is in its block, at `offset`; here is what lists, counts and filters need.
CREATE TABLE step (
    n               INTEGER PRIMARY KEY,        -- never used again: doc rowids follow from it
    file            INTEGER NOT NULL REFERENCES file (n),
    id              TEXT NOT NULL,
    msg             INTEGER NOT NULL,
    sub             INTEGER NOT NULL,
    turn            INTEGER REFERENCES turn (n),
    type            TEXT NOT NULL,
    kind            TEXT,                       -- a message's role, an edit's operation, another tool's name
    subject         TEXT,                       -- its command, path, tool or first words, cut
    same            INTEGER,                    -- equal for the same command in the same folder, or the same path
    at              INTEGER,
    ended_at        INTEGER,
    outcome         TEXT NOT NULL,
    decision        TEXT NOT NULL,
    decision_source TEXT,
    content_status  TEXT NOT NULL,
    error_kind      TEXT,
    exit_code       INTEGER,
    added           INTEGER,
    removed         INTEGER,
    spawns          INTEGER,                    -- hash of the task that it gave to another agent
    flags           TEXT,                       -- words with blanks between
    superseded      INTEGER NOT NULL DEFAULT 0,
    block           INTEGER NOT NULL,
    offset          INTEGER NOT NULL,
    size            INTEGER NOT NULL
);
CREATE INDEX step_place ON step (file, msg);
CREATE INDEX step_left ON step (file, id) WHERE superseded;

-- Bodies of steps, about 128 KB together; a full block is never written again.
CREATE TABLE block (
    n    INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES file (n),
    size INTEGER NOT NULL,                      -- bytes before compression
    zstd BLOB NOT NULL
);
CREATE INDEX block_file ON block (file);

CREATE TABLE call (
    n           INTEGER PRIMARY KEY,
    file        INTEGER NOT NULL REFERENCES file (n),
    key         TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    msg         INTEGER NOT NULL,
    at          INTEGER,
    turn        TEXT,
    route       TEXT,
    model       TEXT,
    fresh       INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    nano        INTEGER,
    flags       TEXT,
    superseded  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (file, key)
);

-- Words of steps: rowid = 2 * step.n for what went in, + 1 for what came out. The text itself is in the blocks.
CREATE VIRTUAL TABLE doc USING fts5 (text, content = '', tokenize = "unicode61 remove_diacritics 2");

-- What was forgotten stays forgotten.
CREATE TABLE tombstone (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

CREATE VIEW sessions AS
SELECT source, id, title, project, cwd, model, surface, status, started_at, ended_at, last_at, length,
       gone_at, copied_from, copied_kind, copied_messages, turns, steps, child_steps, failed, failing, rejected,
       edits, files, added, removed
FROM session;

CREATE VIEW turns AS
SELECT session.id AS session_id, turn.id, turn.mode, turn.at, turn.superseded
FROM turn JOIN file ON file.n = turn.file JOIN session ON session.n = file.session;

CREATE VIEW steps AS
SELECT session.id AS session_id, file.actor AS actor_id, step.id, turn.id AS turn_id, step.msg, step.sub, step.type,
       step.kind, step.subject, step.at, step.ended_at, step.outcome, step.decision, step.decision_source,
       step.content_status, step.error_kind, step.exit_code, step.added, step.removed, step.flags, step.superseded
FROM step JOIN file ON file.n = step.file JOIN session ON session.n = file.session LEFT JOIN turn ON turn.n = step.turn;

CREATE VIEW calls AS
SELECT session.id AS session_id, file.actor AS actor_id, call.key, call.message_id, call.at, call.route, call.model,
       call.fresh, call.cache_read, call.cache_write, call.output, call.nano, call.flags, call.superseded
FROM call JOIN file ON file.n = call.file JOIN session ON session.n = file.session;
