"""Writes the report of the day."""

from pathlib import Path

Path("report.txt").write_text("orders: 1\n", encoding="utf-8")
print("wrote report.txt")
