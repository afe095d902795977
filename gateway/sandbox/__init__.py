"""Confinement: a plan made from the verdict, and backends that keep it."""
