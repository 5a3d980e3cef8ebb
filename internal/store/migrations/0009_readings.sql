-- What the machine was like, once a minute.
CREATE TABLE readings (
    wall TEXT NOT NULL,
    boot TEXT NOT NULL,
    up   INTEGER NOT NULL,
    json TEXT NOT NULL -- Reading
) STRICT;
CREATE INDEX readings_age ON readings (wall);
