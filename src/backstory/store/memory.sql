-- What the memory adds to the tables: workspaces, what they learned, facts, and failures that were mended.

CREATE TABLE workspace (
    n          INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_at INTEGER
);
INSERT INTO workspace VALUES (1, 'default', NULL);

-- A folder that a workspace owns, with everything below it; the longest claim wins.
CREATE TABLE claim (
    key       TEXT PRIMARY KEY,                 -- the folder in the form in which folders are compared
    path      TEXT NOT NULL,                    -- as a person named it
    workspace INTEGER NOT NULL REFERENCES workspace (n)
) WITHOUT ROWID;

-- A session that a workspace has learned.
CREATE TABLE conversation (
    n          INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: another process may still hold it
    workspace  INTEGER NOT NULL REFERENCES workspace (n),
    session    INTEGER NOT NULL REFERENCES session (n),
    generation INTEGER NOT NULL,                -- of the session when it was learned
    prep       INTEGER NOT NULL,                -- version of the rules by which it was learned
    project    TEXT,
    folder     TEXT,                            -- the project's folder in the form in which folders are compared
    title      TEXT,                            -- masked
    learned_at INTEGER NOT NULL,
    UNIQUE (workspace, session)
);
CREATE INDEX conversation_session ON conversation (session);

-- One prompt and its answer. Texts are masked. Numbers are never used again: people write them.
CREATE TABLE exchange (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversation (n),
    position     INTEGER NOT NULL,
    message_id   TEXT NOT NULL,
    step_id      TEXT NOT NULL,
    key          INTEGER NOT NULL,              -- equal for copies of one prompt; what was forgotten or edited goes by it
    at           INTEGER,
    asked        TEXT NOT NULL,
    answered     TEXT NOT NULL,
    paths        TEXT NOT NULL,                 -- one a line
    UNIQUE (conversation, message_id)
);
CREATE INDEX exchange_key ON exchange (key);
CREATE INDEX exchange_place ON exchange (conversation, position);

-- What a person made of an exchange; it stands wherever the exchange is learned.
CREATE TABLE revision (
    key      INTEGER PRIMARY KEY,
    asked    TEXT,                              -- null: as recorded, and it grows with the record
    answered TEXT,                              -- likewise
    at       INTEGER NOT NULL
);

-- What a person or an agent added beside what was learned.
CREATE TABLE fact (
    n         INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace INTEGER NOT NULL REFERENCES workspace (n),
    text      TEXT NOT NULL,
    project   TEXT,
    folder    TEXT,
    at        INTEGER NOT NULL,
    author    TEXT NOT NULL,                    -- person or agent
    edited_at INTEGER
);

-- A command that failed and later succeeded in the same session, with what was changed between.
CREATE TABLE mended (
    n            INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (n),
    position     INTEGER,                       -- the prompt in which it failed
    mended_position INTEGER,                    -- the prompt in which it succeeded
    step_id      TEXT NOT NULL,
    mended_by    TEXT NOT NULL,                 -- id of the step that succeeded
    at           INTEGER,
    after        INTEGER,                       -- ms from the failure to the success
    command      TEXT NOT NULL,
    error        TEXT NOT NULL,
    changed      TEXT NOT NULL,                 -- JSON: [[path, added, removed], ...]
    ran          TEXT NOT NULL,                 -- JSON: commands that succeeded between
    diff         TEXT NOT NULL,
    UNIQUE (conversation, step_id)
);
CREATE INDEX mended_place ON mended (conversation, position);

-- Words of exchanges (rowid = 2 * exchange.n) and of facts (2 * fact.n + 1), as `memory/terms.py` prepares them.
-- They are stems already; the tokenizer only cuts them at blanks.
CREATE VIRTUAL TABLE memory_fts USING fts5 (
    own, title, paths, tokenize = "unicode61 remove_diacritics 0"
);
CREATE VIRTUAL TABLE mended_fts USING fts5 (
    error, command, paths, ran, tokenize = "unicode61 remove_diacritics 0"
);
-- The tokens of the index.
CREATE VIRTUAL TABLE memory_terms USING fts5vocab ('memory_fts', 'row');
-- The words of the index, letters alone and not stemmed, for the repair of misspelt ones.
CREATE TABLE memory_word (
    letter TEXT NOT NULL,                       -- its first
    size   INTEGER NOT NULL,                    -- its letters
    word   TEXT NOT NULL,
    PRIMARY KEY (letter, size, word)
) WITHOUT ROWID;

CREATE VIEW exchanges AS
SELECT workspace.name AS workspace, session.id AS session_id, exchange.position, exchange.at, conversation.project,
       exchange.asked, exchange.answered, exchange.paths
FROM exchange JOIN conversation ON conversation.n = exchange.conversation
JOIN session ON session.n = conversation.session JOIN workspace ON workspace.n = conversation.workspace;

CREATE VIEW facts AS
SELECT workspace.name AS workspace, fact.n, fact.text, fact.project, fact.at, fact.author, fact.edited_at
FROM fact JOIN workspace ON workspace.n = fact.workspace;
