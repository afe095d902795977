"""perl: one-line programs."""
