-- Ids are 16 bytes in order of time, so that the rows of a session are adjacent and new ones come last.

CREATE TABLE sessions (
    id             BLOB PRIMARY KEY,
    title          TEXT,
    root           ANY NOT NULL,
    model          TEXT NOT NULL,
    head           BLOB,
    created        INTEGER NOT NULL,
    updated        INTEGER NOT NULL,
    items          INTEGER NOT NULL DEFAULT 0,
    requests       INTEGER NOT NULL DEFAULT 0,
    input          INTEGER NOT NULL DEFAULT 0,
    cache_read     INTEGER NOT NULL DEFAULT 0,
    cache_write    INTEGER NOT NULL DEFAULT 0,
    cache_write_1h INTEGER NOT NULL DEFAULT 0,
    output         INTEGER NOT NULL DEFAULT 0,
    thinking       INTEGER NOT NULL DEFAULT 0,
    estimated      INTEGER NOT NULL DEFAULT 0,
    cost           INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The append-only tree: the conversation. `body` is JSON that depends on `kind`.
-- Rows are in write order, so that SQLite appends one by writing a single page.
CREATE TABLE items (
    seq     INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    id      BLOB NOT NULL,
    parent  BLOB,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    body    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX items_by_id ON items (session, id);

-- Streaming replies in pieces. Rows exist until their item is written: there are few, and they need no index.
CREATE TABLE drafts (
    seq     INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    id      BLOB NOT NULL,
    parent  BLOB,
    model   TEXT NOT NULL,
    request BLOB NOT NULL,
    at      INTEGER NOT NULL,
    chunks  TEXT NOT NULL
) STRICT;

-- The ledger: one row for every request to a model.
CREATE TABLE requests (
    seq            INTEGER PRIMARY KEY,
    session        BLOB NOT NULL,
    id             BLOB NOT NULL,
    item           BLOB,
    purpose        TEXT NOT NULL,
    model          TEXT NOT NULL,
    attempt        INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    first_chunk    INTEGER,
    total          INTEGER NOT NULL,
    input          INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write    INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    thinking       INTEGER NOT NULL,
    estimated      INTEGER NOT NULL,
    cost           INTEGER,
    outcome        TEXT NOT NULL,
    sections       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX requests_by_id ON requests (session, id);

-- Files that items changed, by the ids of their contents.
CREATE TABLE changes (
    session BLOB NOT NULL,
    item    BLOB NOT NULL,
    seq     INTEGER NOT NULL,
    path    ANY NOT NULL,
    before  BLOB,
    after   BLOB,
    PRIMARY KEY (session, item, seq)
) STRICT, WITHOUT ROWID;

-- File contents, by their SHA-256. `at` is when one was last stored.
CREATE TABLE blobs (
    seq   INTEGER PRIMARY KEY,
    id    BLOB NOT NULL UNIQUE,
    at    INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
