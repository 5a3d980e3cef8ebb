-- What was told last of each window of an account's plan.
CREATE TABLE quotas (
    account TEXT NOT NULL,
    window  TEXT NOT NULL,
    wall    TEXT NOT NULL, -- when it was written down
    boot    TEXT NOT NULL,
    up      INTEGER NOT NULL,
    json    TEXT NOT NULL, -- AccountQuota
    PRIMARY KEY (account, window)
) STRICT;
