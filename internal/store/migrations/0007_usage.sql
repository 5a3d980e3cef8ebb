-- What models used, a row for each response. Rows are small and many: they have columns,
-- and whose they are is written once, in usage_whose. Who asks reads the view usage.

CREATE TABLE usage_whose (
    id       INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    session  TEXT NOT NULL,
    model    TEXT NOT NULL,    -- that answered; '': not told, as all of these
    agent    TEXT NOT NULL,
    instance TEXT NOT NULL,
    role     TEXT NOT NULL,
    project  TEXT NOT NULL,
    account  TEXT NOT NULL,
    run      TEXT NOT NULL,
    formula  TEXT NOT NULL,    -- of the run, which is forgotten before its usage is
    work     TEXT NOT NULL,
    cwd      TEXT NOT NULL,
    source   TEXT NOT NULL,
    side     INTEGER NOT NULL, -- 1: of a sub-agent
    UNIQUE (session, kind, model, agent, instance, role, project, account, run, work, cwd, source, side)
) STRICT;
CREATE INDEX usage_whose_instance ON usage_whose (instance) WHERE instance <> '';

CREATE TABLE usage_rows (
    key            TEXT PRIMARY KEY, -- KIND:ID of the response
    whose          INTEGER NOT NULL, -- of usage_whose
    wall           TEXT NOT NULL,    -- when it was answered, UTC
    input          INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    reasoning      INTEGER NOT NULL,
    pricing        TEXT NOT NULL,    -- told, table or unpriced
    micro_usd      INTEGER NOT NULL,
    price_table    TEXT NOT NULL     -- date of the table that priced it
) STRICT;
CREATE INDEX usage_rows_wall ON usage_rows (wall);
CREATE INDEX usage_rows_whose ON usage_rows (whose);
CREATE INDEX usage_rows_unpriced ON usage_rows (whose) WHERE pricing = 'unpriced';

CREATE VIEW usage AS
    SELECT r.key, r.wall, w.kind, w.session, w.model, w.agent, w.instance, w.role, w.project, w.account, w.run, w.formula, w.work, w.cwd, w.source, w.side,
        r.input, r.cache_read, r.cache_write_5m, r.cache_write_1h, r.output, r.reasoning, r.pricing, r.micro_usd, r.price_table
    FROM usage_rows r JOIN usage_whose w ON w.id = r.whose;

-- The same, summed up by days of UTC: always up to date, and kept when the rows have gone.
CREATE TABLE usage_days (
    day            TEXT NOT NULL, -- YYYY-MM-DD
    whose          INTEGER NOT NULL,
    pricing        TEXT NOT NULL,
    responses      INTEGER NOT NULL,
    input          INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    reasoning      INTEGER NOT NULL,
    micro_usd      INTEGER NOT NULL,
    PRIMARY KEY (day, whose, pricing)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_days_whose ON usage_days (whose);

-- How far each file was read that tells of usage.
CREATE TABLE usage_cursors (
    device INTEGER NOT NULL,
    inode  INTEGER NOT NULL,
    path   TEXT NOT NULL,
    offset INTEGER NOT NULL,
    wall   TEXT NOT NULL, -- when it was written down
    PRIMARY KEY (device, inode)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_cursors_path ON usage_cursors (path);

-- What was told that cannot be: the newest of each fault of each kind.
CREATE TABLE usage_odd (
    kind TEXT NOT NULL,
    why  TEXT NOT NULL,
    wall TEXT NOT NULL, -- when it was read
    key  TEXT NOT NULL,
    PRIMARY KEY (kind, why)
) STRICT, WITHOUT ROWID;
