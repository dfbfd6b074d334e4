-- The place of a request in its session, and what was sent, as JSON.
ALTER TABLE requests ADD COLUMN facts TEXT;

-- Measurements for statistics. Times are in milliseconds.
CREATE TABLE turns (
    seq     INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    number  INTEGER NOT NULL,
    intent  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    total   INTEGER NOT NULL,
    mode    TEXT NOT NULL,
    model   TEXT NOT NULL,
    steps   INTEGER NOT NULL,
    ending  TEXT NOT NULL
) STRICT;
CREATE INDEX turns_by_session ON turns (session);

CREATE TABLE calls (
    seq      INTEGER PRIMARY KEY,
    session  BLOB NOT NULL,
    item     BLOB NOT NULL,
    call     TEXT NOT NULL,
    tool     TEXT NOT NULL,
    server   TEXT,
    at       INTEGER NOT NULL,
    millis   INTEGER NOT NULL,
    waited   INTEGER NOT NULL,
    model    TEXT NOT NULL,
    mode     TEXT NOT NULL,
    turn     INTEGER NOT NULL,
    ending   TEXT NOT NULL,
    approval TEXT NOT NULL,
    output   INTEGER NOT NULL,
    -- `format:method` of each edit, separated by spaces.
    edits    TEXT NOT NULL,
    files    INTEGER NOT NULL,
    added    INTEGER NOT NULL,
    removed  INTEGER NOT NULL
) STRICT;
CREATE INDEX calls_by_session ON calls (session);

-- The share of an edit that remained at a point of time.
CREATE TABLE survival (
    session BLOB NOT NULL,
    item    BLOB NOT NULL,
    path    ANY NOT NULL,
    point   TEXT NOT NULL,
    at      INTEGER NOT NULL,
    share   REAL NOT NULL,
    PRIMARY KEY (session, item, path, point)
) STRICT, WITHOUT ROWID;
