-- Hook events come by the thousand an hour: they have columns, not json, and
-- what repeats is written once, in hook_sources.

CREATE TABLE hook_sources (
    id       INTEGER PRIMARY KEY,
    boot     TEXT NOT NULL, -- of the event
    agent    TEXT NOT NULL,
    instance TEXT NOT NULL,
    pid      INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    pid_boot TEXT NOT NULL,
    kind     TEXT NOT NULL,
    session  TEXT NOT NULL,
    who      TEXT NOT NULL, -- fleet.HookEvent.Key
    UNIQUE (who, boot, agent, instance, pid, start, pid_boot, kind, session)
) STRICT;

CREATE TABLE hooks (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    source  INTEGER NOT NULL, -- of hook_sources
    wall    INTEGER NOT NULL, -- nanoseconds since 1970
    up      INTEGER NOT NULL,
    event   TEXT NOT NULL,
    tool    TEXT NOT NULL,
    call_id TEXT NOT NULL,
    args    TEXT NOT NULL,
    text    TEXT NOT NULL,
    context REAL,             -- NULL: not told
    until   TEXT NOT NULL     -- JSON of an instant, or ''
) STRICT;
CREATE INDEX hooks_wall ON hooks (wall);
CREATE INDEX hooks_source ON hooks (source, seq);

-- The newest event of each name, of each source: it outlives the others.
CREATE TABLE hook_last (
    who   TEXT NOT NULL,
    event TEXT NOT NULL,
    seq   INTEGER NOT NULL, -- of hooks
    wall  INTEGER NOT NULL,
    boot  TEXT NOT NULL,
    up    INTEGER NOT NULL,
    PRIMARY KEY (who, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_last_seq ON hook_last (seq);
