"""Mutation testing: one small change to the sources at a time, to see whether a test fails; see `scripts/mutants`."""
