-- Agents that are registered, what was ordered, and what went wrong with them.

CREATE TABLE registrations (
    name     TEXT NOT NULL PRIMARY KEY,
    retired  INTEGER NOT NULL,
    revision INTEGER NOT NULL, -- counts the changes: a writer that knew another one is refused
    wall     TEXT NOT NULL,    -- of the latest change
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL     -- Registration
) STRICT;

CREATE TABLE orders (
    seq   INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were given
    id    TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    over  INTEGER NOT NULL,
    wall  TEXT NOT NULL, -- of the latest change
    boot  TEXT NOT NULL,
    up    INTEGER NOT NULL,
    json  TEXT NOT NULL  -- Order
) STRICT;
CREATE INDEX orders_over ON orders (over, seq);
CREATE INDEX orders_agent ON orders (agent);

CREATE TABLE failures (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    agent TEXT NOT NULL,
    wall  TEXT NOT NULL,
    boot  TEXT NOT NULL,
    up    INTEGER NOT NULL,
    json  TEXT NOT NULL -- Failure
) STRICT;
CREATE INDEX failures_age ON failures (wall);
CREATE INDEX failures_agent ON failures (agent);
