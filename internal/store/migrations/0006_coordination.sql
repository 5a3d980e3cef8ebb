-- What people and agents coordinate by. All tables have one shape.

CREATE TABLE work (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were written down
    id       TEXT NOT NULL UNIQUE,              -- w and seq
    key      TEXT NOT NULL,                     -- the same for the same thing; '': none
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL, -- counts the changes: a writer that knew another one is refused
    wall     TEXT NOT NULL,    -- of the latest change
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX work_key ON work (key) WHERE key <> '';

CREATE TABLE dependencies (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX dependencies_key ON dependencies (key) WHERE key <> '';

CREATE TABLE gates (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX gates_key ON gates (key) WHERE key <> '';

CREATE TABLE convoys (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX convoys_key ON convoys (key) WHERE key <> '';

CREATE TABLE mails (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX mails_key ON mails (key) WHERE key <> '';

CREATE TABLE triggers (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    key      TEXT NOT NULL,
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX triggers_key ON triggers (key) WHERE key <> '';
