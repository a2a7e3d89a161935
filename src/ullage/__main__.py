"""`python -m ullage`."""

import sys

from ullage.cli import main

if __name__ == "__main__":
    sys.exit(main())
