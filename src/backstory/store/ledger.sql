-- What the ledger adds to the tables: which calls count, what they cost, and the budgets.

ALTER TABLE call ADD COLUMN dedup   INTEGER NOT NULL DEFAULT 0;  -- equal for copies of one request
ALTER TABLE call ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;  -- 1 for the one of them that counts
ALTER TABLE call ADD COLUMN name    TEXT;     -- the model's canonical name
ALTER TABLE call ADD COLUMN kind    TEXT;     -- reported, covered, estimated or unpriced; null until it is settled
ALTER TABLE call ADD COLUMN amount  INTEGER;  -- what it cost by its kind; for a covered call its list value
ALTER TABLE call ADD COLUMN price   TEXT;     -- the price that was used, in words
CREATE INDEX call_dedup ON call (dedup);
CREATE INDEX call_open ON call (kind) WHERE kind IS NULL;

-- Every price that a model ever had on a route, as JSON; an empty list for one that nobody knows.
CREATE TABLE price (
    name     TEXT NOT NULL,
    route    TEXT NOT NULL,
    schedule BLOB NOT NULL,
    PRIMARY KEY (name, route)
) WITHOUT ROWID;

-- The agent's own sum for a session, to compare with.
CREATE TABLE rollup (
    session     INTEGER PRIMARY KEY REFERENCES session (n),
    fresh       INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    nano        INTEGER
);

DROP VIEW calls;
CREATE VIEW calls AS
SELECT session.id AS session_id, file.actor AS actor_id, call.key, call.message_id, call.at, call.route, call.model,
       call.fresh, call.cache_read, call.cache_write, call.output, call.nano, call.flags, call.superseded,
       call.counted, call.name, call.kind, call.amount, call.price
FROM call JOIN file ON file.n = call.file JOIN session ON session.n = file.session;

CREATE TABLE budget (
    period  TEXT NOT NULL,                      -- day, week or month
    scope   TEXT NOT NULL,                      -- all, project or model
    name    TEXT NOT NULL,                      -- of the project or the model
    nano    INTEGER NOT NULL,
    covered INTEGER NOT NULL DEFAULT 0,         -- 1 where the list value of covered calls counts too
    PRIMARY KEY (period, scope, name)
) WITHOUT ROWID;
