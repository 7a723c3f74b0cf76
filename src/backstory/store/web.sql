-- What a reader adds to the archive: when a session was looked at, and what was said of it.

-- When a session's steps were last shown to the reader; how many they were is `session.seen_count`.
CREATE TABLE look (
    session INTEGER PRIMARY KEY REFERENCES session (n),
    at      INTEGER NOT NULL
);

-- A person's word about a session or one of its prompts; a session that is read again keeps it.
CREATE TABLE verdict (
    session INTEGER NOT NULL REFERENCES session (n),
    turn    TEXT NOT NULL,                      -- id of the turn; empty for the whole session
    verdict TEXT,                               -- good, needs_work or bad; null where there is a note alone
    note    TEXT NOT NULL DEFAULT '',
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) WITHOUT ROWID;

-- What a list draws of a session, worked out when it is first shown and again when the session has grown.
CREATE TABLE glance (
    session    INTEGER PRIMARY KEY REFERENCES session (n),
    generation INTEGER NOT NULL,
    version    INTEGER NOT NULL,                -- of the rules by which it was made
    data       BLOB NOT NULL
);

CREATE VIEW verdicts AS
SELECT session.id AS session_id, nullif(verdict.turn, '') AS turn_id, verdict.verdict, verdict.note, verdict.at
FROM verdict JOIN session ON session.n = verdict.session;
