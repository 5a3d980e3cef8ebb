-- Every json column holds one value of package fleet; the columns beside it are
-- what is searched for. wall is RFC 3339 with nine digits of fraction in UTC
-- (so that texts compare as times do), boot and up are the other clock.

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY, -- amnesia, next_alert, newest, patrol, patrol_at
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE alerts (
    number   INTEGER PRIMARY KEY,
    rule     TEXT NOT NULL,
    subject  TEXT NOT NULL,
    open     INTEGER NOT NULL, -- 1 until resolved
    wall     TEXT NOT NULL,    -- when it ended; while it is open, when it was last true
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL,
    acked_by TEXT NOT NULL DEFAULT '', -- a person's columns: a pass never writes them
    acked_at TEXT NOT NULL DEFAULT ''  -- JSON of an instant
) STRICT;
CREATE UNIQUE INDEX alerts_open ON alerts (rule, subject) WHERE open = 1;
CREATE INDEX alerts_age ON alerts (open, wall);

CREATE TABLE actions (
    id      TEXT NOT NULL PRIMARY KEY,
    stage   TEXT NOT NULL, -- planned, started, ended
    subject TEXT NOT NULL,
    wall    TEXT NOT NULL, -- of the latest stage
    boot    TEXT NOT NULL,
    up      INTEGER NOT NULL,
    json    TEXT NOT NULL  -- ActionRecord
) STRICT;
CREATE INDEX actions_age ON actions (stage, wall);
CREATE INDEX actions_subject ON actions (subject);

CREATE TABLE skips (
    do      TEXT NOT NULL,
    subject TEXT NOT NULL,
    rule    TEXT NOT NULL, -- of the alert it is for
    alert   TEXT NOT NULL, -- its subject
    guard   TEXT NOT NULL,
    json    TEXT NOT NULL, -- Skipped
    PRIMARY KEY (do, subject, rule, alert)
) STRICT;

CREATE TABLE agents (
    name TEXT NOT NULL PRIMARY KEY,
    wall TEXT NOT NULL, -- last seen
    boot TEXT NOT NULL,
    up   INTEGER NOT NULL,
    json TEXT NOT NULL  -- AgentRecord
) STRICT;

CREATE TABLE silences (
    rule    TEXT NOT NULL,
    subject TEXT NOT NULL,
    wall    TEXT NOT NULL, -- until
    boot    TEXT NOT NULL,
    up      INTEGER NOT NULL,
    json    TEXT NOT NULL, -- Silence
    PRIMARY KEY (rule, subject)
) STRICT;

CREATE TABLE stopped (
    subject TEXT NOT NULL PRIMARY KEY,
    json    TEXT NOT NULL -- Subject
) STRICT;

CREATE TABLE outbox (
    id       TEXT NOT NULL PRIMARY KEY,
    state    TEXT NOT NULL, -- due, sent, given_up
    priority TEXT NOT NULL,
    wall     TEXT NOT NULL, -- when it is to be tried next; once over, when it was over
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    tries    INTEGER NOT NULL DEFAULT 0,
    why      TEXT NOT NULL DEFAULT '', -- the last try failed
    json     TEXT NOT NULL -- Message
) STRICT;
CREATE INDEX outbox_due ON outbox (state, wall);

CREATE TABLE events (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    wall    TEXT NOT NULL,
    boot    TEXT NOT NULL,
    up      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    rule    TEXT NOT NULL,
    alert   TEXT NOT NULL, -- subject of the alert
    subject TEXT NOT NULL,
    action  TEXT NOT NULL,
    json    TEXT NOT NULL -- Event
) STRICT;
CREATE INDEX events_age ON events (wall);
CREATE INDEX events_alert ON events (alert, rule);
CREATE INDEX events_subject ON events (subject);
CREATE INDEX events_action ON events (action);

CREATE TABLE set_aside (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    wall TEXT NOT NULL,
    what TEXT NOT NULL, -- the table it was in
    key  TEXT NOT NULL,
    why  TEXT NOT NULL,
    json TEXT NOT NULL
) STRICT;
