"""A program that speaks Moses' command line and n-best format, around replitune's own decoder.

    moses -f moses.ini -i FILE [-n-best-list FILE N [distinct]] [-weight-overwrite "Name= v v"]
    moses -f moses.ini -show-weights

Its moses.ini has, beside [weight], a section [model] with the folder of a phrase-based model.
What it does not know ends it with an error, as with Moses.
"""

from __future__ import annotations

import sys
from pathlib import Path

TAKES = {"f": 1, "i": 1, "threads": 1, "inputtype": 1, "weight-overwrite": 1, "show-weights": 0}
SAME = {"config": "f", "input-file": "i"}


def parsed(words: list[str]) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    while words:
        name = SAME.get(words[0].lstrip("-"), words[0].lstrip("-"))
        if not words[0].startswith("-") or (name not in TAKES and name != "n-best-list"):
            sys.exit(f"ERROR: Unknown parameter {words[0]}")
        end = 1 + TAKES.get(name, 2)
        if name == "n-best-list" and words[3:4] == ["distinct"]:
            end = 4
        options[name], words = words[1:end], words[end:]
    return options


def sections(ini: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    here = ""
    for line in ini.read_text().splitlines():
        if line.startswith("["):
            here = line.strip("[]")
        elif line.strip() and not line.startswith("#"):
            found.setdefault(here, []).append(line)
    return found


def named(words: list[str]) -> dict[str, list[float]]:
    weights: dict[str, list[float]] = {}
    for word in words:
        if word.endswith("="):
            values = weights.setdefault(word[:-1], [])
        else:
            values.append(float(word))
    return weights


def main() -> None:
    options = parsed(sys.argv[1:])
    ini = sections(Path(options["f"][0]))
    weights = named(" ".join(ini["weight"]).split())
    if "show-weights" in options:
        print("UnknownWordPenalty0 UNTUNEABLE")
        for name, values in weights.items():
            if name != "UnknownWordPenalty0":
                print(f"{name}= {' '.join(map(str, values))}")
        return
    from replitune.phrase.decoder import PhraseSystem
    from replitune.phrase.settings import SearchSettings
    from replitune.running.files import read_lines

    weights |= named(options.get("weight-overwrite", [""])[0].split())
    weights.pop("UnknownWordPenalty0", None)
    system = PhraseSystem(ini["model"][0], None, SearchSettings(stack=20, pop_limit=20))
    vector = system.layout.to_vector(weights)
    lines = read_lines(options["i"][0])
    print("Start loading text phrase table. Moses format", file=sys.stderr)
    for line in system.translate(lines, vector):
        print(line)
    if "n-best-list" in options:
        path, size = options["n-best-list"][:2]
        lists = system.nbest(lines, vector, int(size))
        lists.write(path)


if __name__ == "__main__":
    main()
