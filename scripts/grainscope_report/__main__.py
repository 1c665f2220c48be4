"""Lets `python -m grainscope_report` work as the command does."""

import sys

from grainscope_report.cli import main

if __name__ == "__main__":
    sys.exit(main())
