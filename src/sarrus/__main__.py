"""``python -m sarrus``: the command line."""

import sys

from sarrus.runs.cli.main import main

sys.exit(main())
