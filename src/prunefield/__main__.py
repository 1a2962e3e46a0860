"""`python -m prunefield` is `prunefield`."""

import sys

from prunefield.cli import main

if __name__ == "__main__":
    sys.exit(main())
