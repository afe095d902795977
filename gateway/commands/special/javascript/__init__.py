"""node: one-line programs."""
