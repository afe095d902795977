"""Findings about rules that load but do not do what somebody may expect. `lint.lint` is where to start."""
