"""The path of every file of an experiment. Names may be wildcards of Snakemake: `{system}`."""

from __future__ import annotations

from dataclasses import dataclass

TESTS = (".json", ".null.parquet")
"""How the names of the files of the tests of a metric end: all results, and distributions."""


@dataclass(frozen=True)
class Places:
    """The files below `results/<experiment>/`."""

    folder: str

    def at(self, *names: str) -> str:
        return "/".join((self.folder, *names))

    # ---- the corpus

    @property
    def corpus(self) -> str:
        return self.at("corpus")

    def testset(self, name: str) -> str:
        return self.at("corpus", f"{name}.jsonl")

    @property
    def train(self) -> tuple[str, str]:
        """Source and target side of the parallel text."""
        return self.at("corpus", "train.source.txt"), self.at("corpus", "train.target.txt")

    def account(self, part: str) -> str:
        """The hashes of the inputs of one part of the corpus."""
        return self.at("corpus", f"{part}.inputs.json")

    @property
    def inputs(self) -> str:
        """The hashes of the inputs of the whole corpus."""
        return self.at("corpus", "inputs.json")

    # ---- systems

    def model(self, system: str) -> str:
        return self.at("models", system)

    def table(self, system: str, testset: str) -> str:
        """The part of a model that a text can use."""
        return self.at("options", system, testset)

    def replica(self, system: str, replica: str) -> str:
        """The folder of a tuning run or a training."""
        return self.at("tuning", system, replica)

    def weights(self, system: str, replica: str) -> str:
        return self.at("tuning", system, replica, "weights.json")

    def history(self, system: str, replica: str) -> str:
        return self.at("tuning", system, replica, "history.parquet")

    def work(self, system: str, replica: str) -> str:
        """The checkpoint of a run that is not finished; not an output."""
        return self.at("tuning", system, ".work", replica)

    def common(self, system: str) -> str:
        """What the replicas of a system reuse from each other; not an output."""
        return self.at("tuning", system, ".work")

    def decode(self, testset: str, system: str, replica: str) -> str:
        return self.at("decodes", testset, system, f"{replica}.txt")

    def answers(self, testset: str, system: str, replica: str) -> str:
        """The answers of a server."""
        return self.at("answers", testset, system, f"{replica}.jsonl")

    def derivations(self, testset: str, system: str) -> str:
        """How one replica of a system derived its translations."""
        return self.at("derivations", testset, f"{system}.json")

    # ---- numbers

    def store(self, testset: str, metric: str, system: str) -> str:
        return self.at("stats", testset, metric, f"{system}.parquet")

    def tests(self, testset: str, metric: str, kind: str = TESTS[0]) -> str:
        """`kind` is one of `TESTS`."""
        return self.at("tests", testset, f"{metric}{kind}")

    def look(self, number: int | str, kind: str = ".json") -> str:
        """The record of the looks up to this one; with `kind` `.parquet`, as rows."""
        return self.at("looks", f"{number}{kind}")

    def batch(self, testset: str, metric: str, system: str, n: int | str) -> str:
        """Segment statistics of the replicas that bring a system to n of each kind."""
        return self.at("looks", "stats", testset, metric, system, f"{n}.parquet")

    def study(self, study: str, testset: str, metric: str | None = None) -> str:
        names = (testset,) if metric is None else (testset, metric)
        return self.at("studies", study, *names[:-1], f"{names[-1]}.parquet")

    # ---- what people read

    @property
    def page(self) -> str:
        return self.at("report.html")

    @property
    def tables(self) -> str:
        return self.at("tables")

    @property
    def figures(self) -> str:
        return self.at("figures")

    @property
    def manifest(self) -> str:
        return self.at("manifest.json")

    @property
    def kernels(self) -> str:
        return self.at(".kernels")

    # ---- how jobs ran

    def log(self, *names: str) -> str:
        return self.at("logs", *names) + ".log"

    def record(self, *names: str) -> str:
        return self.at("logs", *names) + ".json"

    def benchmark(self, *names: str) -> str:
        return self.at("benchmarks", *names) + ".tsv"
