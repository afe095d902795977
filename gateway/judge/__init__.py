"""Calls to verdicts: `judge.Judge` leads one call through all stages, for dry runs, hooks and whatever runs calls."""
