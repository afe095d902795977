"""Verdicts, plans and calls as people read them."""
