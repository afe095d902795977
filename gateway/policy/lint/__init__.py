"""Findings about rules that load but do not do what somebody may expect. `linter.lint` is where to start."""
