"""`python -m replitune`."""

import sys

from replitune.cli import main

sys.exit(main())
