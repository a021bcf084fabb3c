-- Old rows are deleted in steps that begin where the last one ended. An index of a long table takes its time.
SET LOCAL statement_timeout = 0;
DROP INDEX snapshots_by_age;
CREATE INDEX snapshots_by_age ON snapshots (at, id);
DROP INDEX events_by_age;
CREATE INDEX events_by_age ON events (at, id);
