"""Says which files the index names that are not there."""

import os
import re
import sys

with open("index.md", encoding="utf-8") as file:
    named = re.findall(r"\]\(([^)]+)\)", file.read())
missing = [name for name in named if not os.path.exists(name)]
for name in missing:
    print(f"index.md names {name}, which is not there")
sys.exit(1 if missing else 0)
