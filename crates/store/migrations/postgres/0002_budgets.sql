-- What is known about the budget of a registry host, as text: its judgement is not the database's. A version is
-- never used twice, not even after a row was pruned and made anew.
CREATE TABLE host_budgets (
  host TEXT COLLATE "C" PRIMARY KEY,
  version BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  changed_at BIGINT NOT NULL
);
-- Rewritten with every question asked.
ALTER TABLE host_budgets SET (fillfactor = 20);
