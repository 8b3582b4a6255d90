"""The report on one synthetic table, and what it shares with that of a benchmark."""
