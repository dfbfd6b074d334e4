-- What kind of thing a version was, as a Unix mode: a file, a link or a folder, with its permissions. Bit 16 says that nobody noted
-- the permissions, bit 17 that the bytes were not kept. NULL is a file of which only the bytes are known, or nothing at all.
ALTER TABLE changes ADD COLUMN before_kind INTEGER;
ALTER TABLE changes ADD COLUMN after_kind INTEGER;
