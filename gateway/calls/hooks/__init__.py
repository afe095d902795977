"""Hooks: programs, addresses and functions that are told of calls, and may refuse or change them (`docs/hooks.md`)."""
