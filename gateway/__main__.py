"""`python -m gateway`."""

from __future__ import annotations

import sys

from gateway.frontends.main import main

if __name__ == "__main__":
    sys.exit(main())
