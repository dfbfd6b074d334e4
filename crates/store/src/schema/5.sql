-- Prompts that wait for their turn, as JSON. Rows live until their item is written: there are few, and they need no index.
CREATE TABLE waiting (
    seq     INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    id      BLOB NOT NULL,
    body    TEXT NOT NULL
) STRICT;
-- The folders of a project besides its main one, in their order.
CREATE TABLE roots (
    session BLOB NOT NULL,
    seq     INTEGER NOT NULL,
    path    ANY NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
