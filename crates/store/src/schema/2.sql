-- The kind of a version, as a Unix mode: a file, a link or a folder, with its permissions. Bit 16: the permissions are unknown.
-- Bit 17: the content is not stored. NULL is a file with unknown permissions, or no file.
ALTER TABLE changes ADD COLUMN before_kind INTEGER;
ALTER TABLE changes ADD COLUMN after_kind INTEGER;
