-- Subtasks: the parent session and the call in it.
ALTER TABLE sessions ADD COLUMN parent BLOB;
ALTER TABLE sessions ADD COLUMN call TEXT;
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
