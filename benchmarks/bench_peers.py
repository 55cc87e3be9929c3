"""Compare whole commands of ours with those of peers, in the same minutes; prints Markdown.

    python benchmarks/bench_peers.py --data DIR [--compare-mt PROGRAM] [--multeval PROGRAM]
                                     [--moses FOLDER --nbest FOLDER] [--only TEXT]

CPU seconds (user + system, all threads and children) of each command from its start, on the multeval
example: the better of two runs, or a single run if it takes a minute; ours with compiled kernels in
the cache. `--nbest` is a folder with nbest.txt, ref.txt and init.ini, `--moses` one with Moses'
extractor, kbmira and mert. Peers that are not given are left out and listed at the end.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OURS = (sys.executable, "-m", "replitune")
ONE = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True)
class Race:
    """The same work by a peer and by us; each side is a list of commands, run one after the other."""

    work: str
    peer: str
    theirs: Sequence[Sequence[str]]
    ours: Sequence[Sequence[str]]
    note: str = ""


def seconds(commands: Sequence[Sequence[str]], folder: Path) -> float:
    """CPU seconds of the commands; if one fails, the benchmark ends with its messages."""
    total = 0.0
    environment = {**os.environ, **dict.fromkeys(ONE, "1")}
    for command in commands:
        with open(folder / "said", "w+b") as said:
            process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, env=environment)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                sys.exit(f"{' '.join(command)}:\n{said.read()[-2000:].decode(errors='replace')}")
        total += used.ru_utime + used.ru_stime
    return total


def least(commands: Sequence[Sequence[str]], folder: Path) -> float:
    first = seconds(commands, folder)
    return first if first > 60 else min(first, seconds(commands, folder))


def unpack(data: Path, folder: Path) -> None:
    """The multeval example as plain files: ref, baseline.0 to sys2.2."""
    example = data / "multeval-example"
    for path in example.glob("*.gz"):
        name = path.name.removesuffix(".gz")
        short = "ref" if name.startswith("refs") else name.removeprefix("hyps.lc.tok.en.")
        (folder / short.replace(".opt", ".")).write_bytes(gzip.decompress(path.read_bytes()))


def races(options: argparse.Namespace, folder: Path) -> list[Race]:
    compare = [*OURS, "compare", "--refs", "ref", "--samples", "10000"]
    two = [*compare, "--baseline", "baseline.0", "--system", "sys1=sys1.0"]
    sacrebleu = [sys.executable, "-m", "sacrebleu", "ref", "-f", "text", "-i", "baseline.0", "sys1.0"]
    found = [
        Race(
            f"{kind}, {metric}, 1 v 1 run, 10,000 samples",
            "sacrebleu",
            [[*sacrebleu, "-m", metric, flag, count, "10000"]],
            [[*two, "--metrics", metric, "--methods", method]],
        )
        for kind, flag, count, method in (
            ("approximate randomisation", "--paired-ar", "--paired-ar-n", "riezler"),
            ("bootstrap", "--paired-bs", "--paired-bs-n", "koehn"),
        )
        for metric in ("bleu", "chrf")
    ]
    found.append(
        Race(
            "approximate randomisation, ter, 1 v 1 run, 10,000 samples",
            "sacrebleu",
            [[*sacrebleu, "-m", "ter", "--paired-ar", "--paired-ar-n", "10000"]],
            [[*two, "--metrics", "ter", "--methods", "riezler"]],
        )
    )
    if options.compare_mt:
        none: list[str] = []
        for part in ("word_accuracies", "sentence_buckets", "ngrams", "sentence_examples"):
            none += [f"--compare_{part}"]
        found.append(
            Race(
                "bootstrap, bleu, 1 v 1 run, 10,000 samples",
                "compare-mt",
                [
                    [
                        options.compare_mt,
                        "ref",
                        "baseline.0",
                        "sys1.0",
                        "--compare_scores",
                        "score_type=bleu,bootstrap=10000",
                        *none,
                    ]
                ],
                [[*two, "--metrics", "bleu:tokenize=none", "--methods", "koehn"]],
                "its bootstrap draws half as many segments",
            )
        )
    if options.multeval:
        program = Path(options.multeval).resolve()
        runs = {s: [f"{s}.{r}" for r in range(3)] for s in ("baseline", "sys1", "sys2")}
        found.append(
            Race(
                "BLEU, TER, length; 3 systems x 3 runs; 10,000 exchanges",
                "multeval",
                # it looks for its own files in the working directory
                [
                    [
                        "env",
                        "-C",
                        str(program.parent),
                        str(program),
                        "eval",
                        "--refs",
                        str(folder / "ref"),
                        *(
                            w
                            for s, r in runs.items()
                            for w in (f"--hyps-{s}", *(str(folder / f) for f in r))
                        ),
                        "--metrics",
                        "bleu",
                        "ter",
                        "length",
                        "--boot-samples",
                        "1000",
                        "--ar-shuffles",
                        "10000",
                    ]
                ],
                [
                    [
                        *compare,
                        "--baseline",
                        *runs["baseline"],
                        "--system",
                        f"sys1={runs['sys1'][0]}",
                        *runs["sys1"][1:],
                        "--system",
                        f"sys2={runs['sys2'][0]}",
                        *runs["sys2"][1:],
                        "--metrics",
                        "bleu:tokenize=none",
                        "ter",
                        "length",
                        "--methods",
                        "clark",
                    ]
                ],
            )
        )
    if options.moses and options.nbest:
        lists, moses = Path(options.nbest).resolve(), Path(options.moses).resolve()
        nbest, ref, init = (str(lists / name) for name in ("nbest.txt", "ref.txt", "init.ini"))
        values = [v for line in Path(init).read_text().splitlines() for v in line.split()[1:]]
        n = len(values)
        (folder / "dense").write_text("".join(f"F{i}= {v}\n" for i, v in enumerate(values)))
        bounds = "\n".join(" ".join(row) for row in (values, ["-1"] * n, ["1"] * n))
        (folder / "init.opt").write_text(bounds + "\n")
        extract = [
            str(moses / "extractor"),
            "--sctype",
            "BLEU",
            "--scconfig",
            "case:true",
            "-r",
            ref,
            "-n",
            nbest,
            "-S",
            "scores",
            "-F",
            "features",
        ]
        inner = {
            "mira": [
                str(moses / "kbmira"),
                "--dense-init",
                "dense",
                "--ffile",
                "features",
                "--scfile",
                "scores",
                "-o",
                "mira.out",
            ],
            "mert": [
                str(moses / "mert"),
                "-d",
                str(n),
                "-n",
                "20",
                "-r",
                "1",
                "--ifile",
                "init.opt",
                "--ffile",
                "features",
                "--scfile",
                "scores",
                "--sctype",
                "BLEU",
                "--scconfig",
                "case:true",
            ],
        }
        for work, name in (("batch MIRA", "mira"), ("MERT, 20 starts", "mert")):
            found.append(
                Race(
                    f"statistics and {work} on an n-best file",
                    "Moses",
                    [extract, inner[name]],
                    [
                        [
                            *OURS,
                            "tune",
                            "--nbest",
                            nbest,
                            "--refs",
                            ref,
                            "--init",
                            init,
                            "--algorithm",
                            name,
                            "--out",
                            str(folder / "w.json"),
                        ]
                    ],
                    "the weights differ",
                )
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("REPLITUNE_DATA"))
    parser.add_argument("--compare-mt", default="", help="the program compare-mt")
    parser.add_argument("--multeval", default="", help="its program multeval.sh")
    parser.add_argument("--moses", default="", help="folder with extractor and kbmira")
    parser.add_argument("--nbest", default="", help="folder with nbest.txt, ref.txt, init.ini")
    parser.add_argument("--only", default="", help="part of a peer's name")
    options = parser.parse_args()
    if not options.data:
        sys.exit("name the folder of corpora: --data DIR, or REPLITUNE_DATA")
    print("| work | peer | peer CPU-s | ours CPU-s | ratio | load | |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        unpack(Path(options.data), folder)
        for race in races(options, folder):
            if options.only not in race.peer:
                continue
            seconds(race.ours, folder)  # compiles
            ours, theirs = (least(commands, folder) for commands in (race.ours, race.theirs))
            print(
                f"| {race.work} | {race.peer} | {theirs:.1f} | {ours:.1f} | {theirs / ours:.1f} "
                f"| {os.getloadavg()[0]:.1f} | {race.note} |",
                flush=True,
            )
    given = {
        "compare-mt": options.compare_mt,
        "multeval": options.multeval,
        "Moses": options.moses and options.nbest,
    }
    absent = [name for name, value in given.items() if not value]
    if absent:
        print(f"\nNot given, so left out: {', '.join(absent)}.")


if __name__ == "__main__":
    main()
