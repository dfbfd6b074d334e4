-- Subtasks: the session that handed the work over, and the call with which it did.
ALTER TABLE sessions ADD COLUMN parent BLOB;
ALTER TABLE sessions ADD COLUMN call TEXT;
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
