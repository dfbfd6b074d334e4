-- The difference from the previous prompt, and the data to reproduce the prompt, as JSON.
ALTER TABLE requests ADD COLUMN prompt TEXT;
-- Blobs that prompts consist of; stored as long as a session references them.
CREATE TABLE prompt_blobs (
    session BLOB NOT NULL,
    id      BLOB NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
