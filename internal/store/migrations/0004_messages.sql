-- Messages for agents lie in the outbox beside those for people.

ALTER TABLE outbox ADD COLUMN kind TEXT NOT NULL DEFAULT '';      -- of a message for an agent
ALTER TABLE outbox ADD COLUMN recipient TEXT NOT NULL DEFAULT ''; -- name of that agent; '': people
CREATE INDEX outbox_recipient ON outbox (recipient, state, wall) WHERE recipient <> '';
