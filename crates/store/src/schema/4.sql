-- Where a prompt left the one before it, and what it takes to show it again, as JSON.
ALTER TABLE requests ADD COLUMN prompt TEXT;
-- Contents that prompts are made of: they are kept as long as a session names them.
CREATE TABLE prompt_blobs (
    session BLOB NOT NULL,
    id      BLOB NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
