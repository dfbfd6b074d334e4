-- Queued prompts, as JSON. Rows exist until their item is written: there are few, and they need no index.
CREATE TABLE waiting (
    seq     INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    id      BLOB NOT NULL,
    body    TEXT NOT NULL
) STRICT;
-- Additional project folders, in order.
CREATE TABLE roots (
    session BLOB NOT NULL,
    seq     INTEGER NOT NULL,
    path    ANY NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
