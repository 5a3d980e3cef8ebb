-- Merge queues: branches that are to be merged, the groups they are tested in, and which queues are held.
CREATE TABLE merges (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL -- MergeItem
) STRICT;
CREATE UNIQUE INDEX merges_key ON merges (key) WHERE key <> '';

CREATE TABLE merge_groups (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL -- MergeGroup
) STRICT;
CREATE UNIQUE INDEX merge_groups_key ON merge_groups (key) WHERE key <> '';

CREATE TABLE merge_holds (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL -- MergeHold
) STRICT;
CREATE UNIQUE INDEX merge_holds_key ON merge_holds (key) WHERE key <> '';
