"""Would the test suite notice? Each defect below is put into a copy of the tree; the tests named with
it must fail there, and pass without the defect.

  make defects                                all of them
  make defects ARGS="lock order"              those with one of these words in their names
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "workflow", "config", "envs", "docs", "scripts", ".test")
WORKFLOW = "tests/workflow/test_workflow.py::test_"
BACKENDS = "tests/workflow/test_backends.py::test_"
RUNS = "tests/workflow/test_run.py::test_"
RECORDS = "tests/ledger/test_records.py::test_"


@dataclass(frozen=True)
class Defect:
    """A text that occurs exactly once in a file, and its replacement."""

    name: str
    file: str
    old: str
    new: str
    test: str
    """The test that must fail, as pytest names it."""


DEFECTS = [
    # ---- the rules
    Defect(
        "wrong rerun trigger: changed settings of tests run nothing again",
        "workflow/rules/test.smk",
        'job=job_settings("test"),',
        'job=lambda wildcards, output: job_settings("test")(wildcards),',
        f"{WORKFLOW}snakemake_plans_what_a_change_runs_again[settings]",
    ),
    Defect(
        "wrong rerun trigger: a permission to go on makes everything again",
        "workflow/rules/common.smk",
        "def failure_option(wildcards, output):",
        "def failure_option(wildcards):",
        f"{BACKENDS}a_failed_replica_stops_its_own_system_and_says_why",
    ),
    Defect(
        "missing output: a rule forgets a file of its stage",
        "workflow/rules/test.smk",
        '"{metric}", kind) for kind in TESTS]',
        '"{metric}", kind) for kind in TESTS[:-1]]',
        f"{WORKFLOW}rules_know_the_files_of_their_stages",
    ),
    Defect(
        "missing input: a rule forgets what its stage reads",
        "workflow/rules/score.smk",
        'unpack(job_inputs("score")),',
        'lambda wildcards: job_inputs("score")(wildcards)["testset"],',
        f"{WORKFLOW}rules_know_the_files_of_their_stages",
    ),
    Defect(
        "wrong order: tests do not wait for statistics",
        "workflow/rules/test.smk",
        '        unpack(job_inputs("test")),\n',
        "",
        f"{WORKFLOW}every_promised_file_is_there",
    ),
    Defect(
        "wrong order: the manifest is written before the report",
        "workflow/rules/report.smk",
        "rules.report.output,",
        "AT.inputs,",
        f"{WORKFLOW}rules_know_the_files_of_their_stages",
    ),
    Defect(
        "what was there is removed before a job, and nothing is taken over",
        "workflow/rules/score.smk",
        'update(AT.store("{testset}", "{metric}", "{system}")),',
        'AT.store("{testset}", "{metric}", "{system}"),',
        f"{WORKFLOW}what_has_not_changed_is_taken_over_and_nothing_else",
    ),
    Defect(
        "the default experiment is mixed into every other one",
        "workflow/Snakefile",
        'if "experiment" not in config and probe',
        "if probe",
        f"{WORKFLOW}an_experiment_is_run_alone",
    ),
    Defect(
        "resources of a system are not asked for",
        "workflow/rules/common.smk",
        "if name not in asked:",
        "if True:",
        f"{BACKENDS}resources_of_a_system_reach_the_jobs_of_this_system_only",
    ),
    Defect(
        "threads of a system do not reach its jobs",
        "workflow/rules/common.smk",
        'return EXPERIMENT.resources(wildcards.system).get("threads", 1)',
        "return 1",
        f"{BACKENDS}resources_of_a_system_reach_the_jobs_of_this_system_only",
    ),
    Defect(
        "look after settled: replicas are made that nobody asked for",
        "workflow/rules/common.smk",
        "while not (record := record_of_look(number)).settled:",
        "while not (record := record_of_look(number)).settled or number < 5:",
        "tests/workflow/test_looks.py::test_killed_in_a_look_and_between_looks_it_ends_in_the_same_bytes",
    ),
    Defect(
        "programs are not looked for before the first job",
        "workflow/Snakefile",
        "    before_first_job()",
        "    pass",
        "tests/workflow/test_module.py::test_the_handlers_of_a_module_can_be_called",
    ),
    Defect(
        "wrong profile option: what a killed run made stops the next one",
        "workflow/profiles/workstation/config.yaml",
        "rerun-incomplete: true",
        "rerun-incomplete: false",
        f"{RUNS}what_was_made_when_its_run_was_killed_is_made_again",
    ),
    Defect(
        "logger plugin silent",
        "src/snakemake_logger_plugin_replitune/__init__.py",
        "            self.writer.write(record)",
        "            pass",
        "tests/workflow/test_events.py",
    ),
    # ---- stages and their jobs
    Defect(
        "stale stage: its version is not part of what a job is told",
        "src/replitune/experiment/stage.py",
        'version=f"{cls.VERSION} {backend_version}".strip(),',
        "version=backend_version,",
        "tests/experiment/test_experiment.py::test_a_raised_version_runs_a_stage_again",
    ),
    Defect(
        "missing input: scores do not depend on translations",
        "src/replitune/stages/score.py",
        '            "decodes": self.decodes,\n',
        "",
        f"{WORKFLOW}a_change_runs_again_exactly_what_depends_on_it",
    ),
    Defect(
        "settings ignored by the job of tests",
        "src/replitune/stages/test.py",
        'read(TestSettings, self.tests, "tests")',
        "TestSettings()",
        "tests/workflow/test_scores.py::test_the_workflow_finds_what_compare_finds",
    ),
    Defect(
        "seed not used",
        "src/replitune/streams.py",
        "SeedSequence(seed, spawn_key=key)",
        "SeedSequence(0, spawn_key=key)",
        "tests/test_streams.py",
    ),
    Defect(
        "replica order",
        "src/replitune/replicas.py",
        "for number in range(1, count + 1)",
        "for number in range(count, 0, -1)",
        "tests/experiment/test_experiment.py::test_replica_ids_have_three_digits_and_know_their_group",
    ),
    Defect(
        "threads change bytes",
        "src/replitune/significance/run.py",
        "done += pool.map(run, jobs) if threads > 1 else map(run, jobs)",
        "done += [*pool.map(run, jobs)][::-1] if threads > 1 else map(run, jobs)",
        "tests/significance/test_run.py",
    ),
    # ---- records, interruptions
    Defect(
        "record not checked: a damaged input is read",
        "src/replitune/ledger/records.py",
        "if made is None or sha256 != made.sha256:",
        "if made is None:",
        f"{RECORDS}what_has_changed_is_refused",
    ),
    Defect(
        "results of two pieces are taken for one",
        "src/replitune/ledger/records.py",
        "if made.sha256 != sha256:",
        "if not made.sha256:",
        f"{RECORDS}results_of_two_pieces_are_refused",
    ),
    Defect(
        "half-made file taken over",
        "src/replitune/ledger/records.py",
        "made.origin != origin or made.sha256 != sha256_file(path)",
        "made.origin != origin",
        f"{WORKFLOW}what_has_not_changed_is_taken_over_and_nothing_else",
    ),
    Defect(
        "taken over, although what it is made from has changed",
        "src/replitune/ledger/records.py",
        "made.origin != origin or made.sha256",
        "made.sha256",
        f"{WORKFLOW}what_has_not_changed_is_taken_over_and_nothing_else",
    ),
    Defect(
        "rows of changed replicas are taken over",
        "src/replitune/statistics/scoring.py",
        "if known is not None and sha256 in known:",
        "if known:\n            sha256 = next(iter(known))",
        "tests/statistics/test_scoring.py",
    ),
    Defect(
        "a failed write replaces the file",
        "src/replitune/running/files.py",
        "        remove(temporary)\n        raise",
        "        put(temporary, path)\n        raise",
        "tests/running/test_files.py",
    ),
    Defect(
        "lost lock: two processes do one job",
        "src/replitune/running/locks.py",
        "        _lock(handle, byte, log)\n",
        "",
        "tests/running/test_locks.py",
    ),
    Defect(
        "checkpoint not resumed",
        "src/replitune/tuning/loop.py",
        "saved = checkpoint.load() if checkpoint else None",
        "saved = None",
        "tests/tuning/test_kill.py::test_a_run_that_is_killed_ends_in_the_same_bytes[pro]",
    ),
    # ---- what is reported
    Defect(
        "manifest misses a file",
        "src/replitune/ledger/manifest.py",
        "filter(own.has, result_files(folder))",
        "[*filter(own.has, result_files(folder))][1:]",
        f"{WORKFLOW}the_manifest_accounts_for_every_file",
    ),
    Defect(
        "verify blind: tests are not derived again",
        "src/replitune/ledger/verifying.py",
        "            check_tests(experiment, testset, metric, threads, verification)",
        "            pass",
        "tests/workflow/test_archive.py::test_a_changed_p_is_found_even_if_the_manifest_was_changed_with_it",
    ),
]


class Copy:
    """A copy of the tree, with or without a defect."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tree"
        for name in COPIED:
            shutil.copytree(ROOT / name, self.folder / name)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, self.folder)

    def passes(self, *tests: str) -> bool | None:
        """Whether tests pass; None if they cannot be run."""
        words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        ran = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
            capture_output=True,
            text=True,
        )
        return {0: True, 1: False}.get(ran.returncode)

    def answer(self, defect: Defect) -> str:
        path = self.folder / defect.file
        text, times = path.read_text("utf-8"), path.stat()
        if text.count(defect.old) != 1:
            return "NOT APPLIED"
        path.write_text(text.replace(defect.old, defect.new), "utf-8")
        try:
            passes = self.passes(defect.test)
        finally:
            path.write_text(text, "utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # so that kernels stay compiled
        return {True: "MISSED", False: "caught", None: "NOT RUN"}[passes]


def main() -> int:
    words = sys.argv[1:]
    chosen = [defect for defect in DEFECTS if not words or any(word in defect.name for word in words)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Copy(Path(folder))
        tests = dict.fromkeys(defect.test for defect in chosen)
        if not tree.passes(*tests):
            print("without a defect some of these tests fail:", *tests, sep="\n  ")
            return 1
        for defect in chosen:
            answer = tree.answer(defect)
            wrong += answer != "caught"
            print(f"{answer:<12} {defect.name}", flush=True)
    print(f"{len(chosen)} defects, {len(chosen) - wrong} caught")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
