-- What is known about the budget of a registry host, as text: its judgement is not the database's. A version is
-- never used twice, not even after a row was pruned and made anew.
CREATE TABLE host_budgets (
  host TEXT NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
