"""A program with the command line and the files of mert-moses.pl, and optimisers
that do nothing but draw weights by the seed that they are given."""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import subprocess
from pathlib import Path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("input", "refs", "decoder", "config"):
        parser.add_argument(name)
    for name in ("working-dir", "mertdir", "nbest", "maximum-iterations", "decoder-flags"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("mertmertargs", "batch-mira-args", "proargs", "threads"):
        parser.add_argument(f"--{name}")
    for name in ("no-filter-phrase-table", "batch-mira", "pairwise-ranked", "return-best-dev"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    mode = [options.batch_mira, options.pairwise_ranked]
    given = options.batch_mira_args or options.proargs or options.mertmertargs
    flag, seed = given.split()
    assert options.mertmertargs is None or options.mertmertargs.endswith(" ")
    assert flag == ("--random-seed" if any(mode) else "-r")
    draw = random.Random(int(seed))
    assert Path(f"{options.refs}0").exists()
    work = Path(options.working_dir)
    work.mkdir()
    decoder = [options.decoder, *options.decoder_flags.split(), "-config", options.config]
    shown = subprocess.run([*decoder, "-show-weights"], check=True, capture_output=True, text=True).stdout
    weights = {
        name: list(map(float, rest.split()))
        for name, equals, rest in (line.partition("= ") for line in shown.splitlines())
        if equals
    }

    def save(name: str, bleu: str) -> None:
        head = Path(options.config).read_text().partition("[weight]")[0]
        rows = [f"{feature}= {' '.join(map(str, values))}" for feature, values in weights.items()]
        text = f"# MERT optimized configuration\n# BLEU {bleu} on dev {options.input}\n"
        rows.append("UnknownWordPenalty0= 1")
        (work / name).write_text(text + head + "[weight]\n" + "\n".join(rows) + "\n")

    bleu = "--not-estimated--"
    for run in range(1, int(options.maximum_iterations) + 1):
        save(f"run{run}.moses.ini", bleu)
        nbest = work / f"run{run}.best{options.nbest}.out"
        overwrite = " ".join(f"{n}= {' '.join(map(str, v))}" for n, v in weights.items())
        command = [*decoder, "-inputtype", "0", "-weight-overwrite", overwrite]
        command += ["-n-best-list", str(nbest), options.nbest, "-input-file", options.input]
        with open(work / f"run{run}.out", "wb") as out:
            subprocess.run(command, check=True, stdout=out)
        with open(nbest, "rb") as plain, gzip.open(f"{nbest}.gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        nbest.unlink()
        weights = {n: [x * draw.uniform(0.8, 1.2) for x in v] for n, v in weights.items()}
        bleu = "unknown" if options.pairwise_ranked else f"0.{run}5"
    save("moses.ini", bleu)
    (work / "finished_step.txt").write_text("2\n")


if __name__ == "__main__":
    main()
