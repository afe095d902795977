"""The process that `gateway console` becomes: started by exactly these words and no variable of anybody's choice, so
that whoever asks knows whom it asks (`gateway.approval.page_wire`)."""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from gateway.frontends.console_sources import main

    sys.exit(main(sys.argv[1:]))
