"""The record: what was decided and what became of it, one JSON line each, chained so that a change shows."""
