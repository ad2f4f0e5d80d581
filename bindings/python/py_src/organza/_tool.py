"""The command line tool, which comes with the package."""

import signal
import sys

from organza._organza import tool


def main() -> None:
    """Do what the command line asks for."""
    # The tool saves a run on Ctrl-C by itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(tool(sys.argv))
