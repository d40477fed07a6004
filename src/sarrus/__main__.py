"""``python -m sarrus``: the command line."""

import sys

from sarrus.cli.main import main

sys.exit(main())
