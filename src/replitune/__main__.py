"""`python -m replitune`."""

import sys

from replitune.cli.main import main

sys.exit(main())
