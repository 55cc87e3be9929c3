"""List or remove the files of a results folder that no longer belong to the experiment.

  replitune clean results/quickstart
  replitune clean results/quickstart --remove

When you take a metric, system, test set or run out of an experiment, its files stay behind, although
no report, manifest or archive includes them. A killed process leaves half-made copies. Both are
listed, and removed with --remove. The last run decides what belongs to the experiment. Only files
that replitune wrote, and nobody has changed since, are touched; no symbolic link is followed.
"""

from __future__ import annotations

import argparse

from replitune.cli.options import add_results, results_folder

THREADS = None
SHOWN = 10
"""How many of the kept files are listed by name; the others are only counted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results(parser)
    parser.add_argument("--remove", action="store_true", help="remove what is listed")


def run(options: argparse.Namespace) -> None:
    from replitune.ledger.cleaning import leftovers, remove, rows, why_at_work

    folder = results_folder(options)
    left = leftovers(folder)
    groups = {
        "no longer in the experiment": left.gone,
        "half-made, left by runs that were killed": left.half_made,
    }
    for title, sizes in groups.items():
        if sizes:
            print(f"{title}: {files_text(len(sizes), sum(sizes.values()))}")
            for name, files, size in rows(sizes, left.there):
                print(f"  {size_text(size):>10} {files:>6}  {name}")
    if left.kept:
        print(f"not part of the experiment, and kept: {files_text(len(left.kept))}")
        for name, why in list(left.kept.items())[:SHOWN]:
            print(f"  {name}: {why}")
        if len(left.kept) > SHOWN:
            print(f"  ... and {len(left.kept) - SHOWN} more")
    if not (left.gone or left.half_made):
        print(f"{folder}: nothing to remove")
    elif options.remove:
        files, freed = remove(left)
        print(f"{folder}: removed {files_text(files, freed)}")
    else:
        files = len(left.gone) + len(left.half_made)
        print(f"{folder}: {files_text(files, left.size)}; --remove removes them")
    if not options.remove and (working := why_at_work(folder)) is not None:
        print(f"note: {working}: what is half-made is not listed, and nothing can be removed")


def files_text(files: int, size: int | None = None) -> str:
    text = f"{files} file" if files == 1 else f"{files} files"
    return text if size is None else f"{text}, {size_text(size)}"


def size_text(size: float) -> str:
    """A size in words: ``1.2 MB``."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
