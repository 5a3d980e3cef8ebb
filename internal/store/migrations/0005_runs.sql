-- Runs of formulas with their steps, and what judges said.

CREATE TABLE runs (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were taken
    id       TEXT NOT NULL UNIQUE,
    formula  TEXT NOT NULL,
    project  TEXT NOT NULL,
    schedule TEXT NOT NULL,    -- that started it; '': none
    newest   INTEGER NOT NULL, -- 1: no later one of its schedule was taken
    over     INTEGER NOT NULL,
    revision INTEGER NOT NULL, -- counts the changes: a writer that knew another one is refused
    wall     TEXT NOT NULL,    -- of its end, of the latest change before that
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL     -- Run without its steps
) STRICT;
CREATE UNIQUE INDEX runs_flight ON runs (formula, project) WHERE over = 0; -- one of them at a time
CREATE INDEX runs_schedule ON runs (schedule) WHERE newest = 1;
CREATE INDEX runs_age ON runs (over, wall);

CREATE TABLE run_steps (
    run      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL, -- from 0
    step     TEXT NOT NULL,
    state    TEXT NOT NULL,
    json     TEXT NOT NULL,    -- RunStep
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdicts (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were given
    id       TEXT NOT NULL UNIQUE,              -- of the action that asked
    alert    TEXT NOT NULL,                     -- rule and subject
    evidence TEXT NOT NULL,                     -- hash of what was asked
    wall     TEXT NOT NULL,
    boot     TEXT NOT NULL,
    up       INTEGER NOT NULL,
    json     TEXT NOT NULL                      -- Verdict
) STRICT;
CREATE INDEX verdicts_age ON verdicts (wall);
CREATE INDEX verdicts_evidence ON verdicts (evidence);
