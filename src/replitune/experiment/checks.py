"""Checks whether settings fit together: finds mistakes that no single setting shows.

`CHECKS` names the parts of the experiment that each check reads; a check is skipped if one of these
parts has mistakes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from replitune.backends.interface import Backend, Given
from replitune.backends.registry import BACKENDS
from replitune.corpus.reader import recognise
from replitune.corpus.settings import FilesCorpus, TestSetFiles
from replitune.errors import ReplituneError, did_you_mean
from replitune.metrics.score_files import check_scores
from replitune.registry import Entry, repeated
from replitune.replicas import UNGROUPED, Design, same_shares
from replitune.settings import WRONG, Path_, Reading, plain, settings_of
from replitune.significance.looks.plan import require_followed
from replitune.significance.looks.settings import LookSettings
from replitune.significance.registry import PEOPLE, TESTS
from replitune.significance.run import counting_samples
from replitune.significance.settings import Baseline, pairs_of_systems
from replitune.tuners import TUNERS, list_tuners

Complain = Callable[..., Any]
"""``complain(path, message, found=..., expected=..., fix=...)`` notes a mistake."""


def cross_check(reading: Reading, parts: Mapping[str, Any]) -> None:
    """Note mistakes in how parts fit together, for the parts that have no mistakes of their own."""
    if (named := parts["systems"]) is not WRONG:
        right = {name: system for name, system in named.items() if system is not WRONG}
        parts = {**parts, "systems": right, "names": [*named]}
    for check, names in CHECKS:
        values = [parts.get(name, WRONG) for name in names]
        if all(value is not WRONG for value in values):
            check(reading.wrong, *values)


def has_testsets(complain: Complain, corpus: Any) -> None:
    if not corpus.tests:
        complain(("corpus",), "no test set", fix="name one under corpus.tests")


def pairs_exist(complain: Complain, systems: Mapping[str, Any], names: Sequence[str], tests: Any) -> None:
    path = ("tests", "pairs")
    if isinstance(tests.pairs, str):
        return
    absent = [name for name, system in systems.items() if getattr(system, "without", ())]
    if absent:
        complain(
            path,
            "pairs are named, but some systems lack translations of some test sets",
            found=", ".join(absent),
            expected="all",
        )
    pairs = () if isinstance(tests.pairs, Baseline) else tests.pairs
    given = [name for pair in pairs for name in pair]
    if isinstance(tests.pairs, Baseline):
        given = [tests.pairs.baseline]
    all_known(complain, path, "system", dict.fromkeys(given), names)
    for number, (a, b) in enumerate(pairs):
        if a == b:
            complain((*path, number), f"a pair of {a!r} with itself", expected="two different systems")


def suites_fit(complain: Complain, tests: Any, corpus: Any, metrics: Sequence[Entry]) -> None:
    known = list(corpus.tests)
    for name, given in tests.suites.items():
        path: Path_ = ("tests", "suites", name)
        if name in (*known, "dev", "train"):
            complain(path, f"a suite and a test set are both called {name!r}")
        named = known if given == "all" else list(given)
        all_known(complain, path, "test set", named, known)
        if len(set(named)) < 2:
            complain(
                path, "a suite of one test set", found=", ".join(named), expected="two test sets or more"
            )
    all_known(complain, ("tests", "margin"), "metric", tests.margin, [entry.id for entry in metrics])


def all_known(complain: Complain, path: Path_, what: str, names: Any, known: Sequence[str]) -> None:
    """Complain about unknown names; a word such as `all`, or None, names nothing."""
    for name in () if names is None or isinstance(names, str) else names:
        if name not in known:
            complain(
                path,
                f"unknown {what} {name!r} in {'.'.join(map(str, path))}",
                expected=", ".join(known),
                fix=did_you_mean(name, [*known]),
            )


def metrics_differ(complain: Complain, metrics: Sequence[Entry]) -> None:
    ids_differ(complain, ("metrics",), "metric", metrics)


def tests_differ(complain: Complain, tests: Any) -> None:
    ids_differ(complain, ("tests", "methods"), "method", tests.methods)
    ids_differ(complain, ("tests", "intervals"), "interval", tests.intervals)


def people_fit(complain: Complain, tests: Any, metrics: Sequence[Entry], corpus: Any) -> None:
    if tests.human is None:
        return
    ids, given = [entry.id for entry in metrics], tests.human
    if PEOPLE in ids:
        complain(
            ("metrics",), f"a metric is called {PEOPLE}, as people's judgements are", fix="give it an `id`"
        )
    all_known(complain, ("tests", "human", "metrics"), "metric", given.metrics, ids)
    all_known(complain, ("tests", "human", "judgements"), "test set", given.judgements, list(corpus.tests))


def ids_differ(complain: Complain, path: Path_, what: str, entries: Iterable[Entry]) -> None:
    twice = repeated(entry.id for entry in entries)
    if twice is not None:
        complain(path, f"two {what}s are called {twice!r}", fix="give one of them an `id`")


def studies_fit(complain: Complain, studies: Any, metrics: Sequence[Entry], corpus: Any) -> None:
    ids = [entry.id for entry in metrics]
    for name in ("power", "replication", "calibrate", "meta"):
        study = getattr(studies, name)
        if study is None:
            continue
        path: Path_ = ("studies", name)
        all_known(complain, (*path, "metrics"), "metric", study.metrics, ids)
        ids_differ(complain, (*path, "methods"), "method", getattr(study, "methods", ()))
        for key in ("human", "fluency"):
            all_known(complain, (*path, key), "test set", getattr(study, key, None), list(corpus.tests))


def scores_fit(complain: Complain, metrics: Sequence[Entry], corpus: Any) -> None:
    for number, entry in enumerate(metrics):

        def here(path: Path_, *message: Any, number: int = number, **fields: Any) -> Any:
            return complain((path[0], number, *path[1:]), *message, **fields)

        check_scores(entry, list(corpus.tests), here)


PARTS = {"train": "training pairs", "dev": "a dev set to tune on"}


def texts_are_there(complain: Complain, systems: Mapping[str, Any], corpus: Any) -> None:
    """The texts that systems read must be in the corpus."""
    lacking: dict[Path_, list[str]] = {}
    for name, backend in backends_of(systems).items():
        read = {part for parts in backend.stages.values() for part in parts}
        for part in PARTS:
            if part in read and not getattr(corpus, part):
                lacking.setdefault(("corpus", part), []).append(name)
        for where, given in corpus.described if isinstance(corpus, FilesCorpus) else ():
            wanted = "source" in read or ("dev" in read and where == ("dev",))
            if wanted and not may_have_source(given):
                lacking.setdefault(("corpus", *where), []).append(name)
    for path, names in lacking.items():
        subject = f"system {names[0]}" if len(names) == 1 else f"systems {', '.join(names)}"
        needs = "needs" if len(names) == 1 else "need"
        if path[1] in PARTS and len(path) == 2 and not getattr(corpus, str(path[1])):
            part = str(path[1])
            complain(("corpus",), f"{subject} {needs} {PARTS[part]}", fix=f"name them as corpus.{part}")
        else:
            complain(path, f"{subject} {needs} the source of {path[-1]}", fix="name it as `source`")


def systems_fit(
    complain: Complain, systems: Mapping[str, Any], replicas: Mapping[str, int], corpus: Any, tuning: Any
) -> None:
    """Each backend checks its system, and must be able to make the replicas asked for."""
    experiment = {"corpus": plain(corpus), "tuning": plain(tuning)}
    for name, backend in backends_of(systems).items():
        own = systems[name].replicas
        known = backend.prefixes
        counts = asked_counts(backend, replicas)
        if known and (not counts or set(counts) - set(known)):
            complain(
                ("systems", name, "replicas") if own else ("replicas",),
                f"system {name} has backend {backend.name}, which makes runs of other kinds",
                found=", ".join(
                    f"{key}: {n}" for key, n in (own or replicas).items() if isinstance(n, int)
                ),
                expected=", ".join(known),
                fix="give the system its own `replicas`",
            )
        if tuning.resample_dev and (graphs := {*counts} & {*TUNERS.names} - {*list_tuners()}):
            complain(
                ("tuning", "resample_dev"),
                f"system {name} is tuned on search graphs, and of these no sample can be drawn",
                found=", ".join(sorted(graphs)),
                expected=f"one of {', '.join(list_tuners())}",
            )
        backend.check({**experiment, "replicas": counts}, complain)


def shares_are_equal(
    complain: Complain, systems: Mapping[str, Any], replicas: Mapping[str, int], tests: Any
) -> None:
    """Tests that exchange replicas within their tuner need the same share of each tuner in both
    systems; paired replicas need the same replicas in both."""
    nested = design_of(systems, replicas) == "nested"
    strict = [] if nested else [entry.id for entry in tests.methods if takes_strata(entry)]
    paired = tests.paired_replicas or any(entry.options.get("paired") for entry in tests.methods)
    made = counts_made(systems, replicas)
    try:
        pairs = pairs_of_systems(tests.pairs, list(systems))
    except ReplituneError:
        return  # reported by `pairs_exist`
    for a, b in pairs:
        if a not in made or b not in made:
            continue
        path = ("systems", b, "replicas")
        counts = "; ".join(f"{name}: {counts_text(made[name])}" for name in (a, b))
        if strict and not same_shares(made[a], made[b]):
            complain(
                path,
                f"systems {a} and {b} have different shares of each tuner",
                found=counts,
                expected="the same proportions, since runs are exchanged within their tuner",
                fix=f"give both the same runs, or set `strata: none` for {', '.join(strict)}",
            )
        elif paired and made[a] != made[b]:
            complain(
                path,
                f"runs of {a} and {b} do not pair by id",
                found=counts,
                expected="the same runs in both systems",
                fix="leave paired_replicas off, or give both systems the same runs",
            )


def takes_strata(entry: Entry) -> bool:
    return "strata" in TESTS.settings(entry.name) and entry.options.get("strata") != "none"


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {key}" for key, n in counts.items())


def replicas_are_there(
    complain: Complain, systems: Mapping[str, Any], replicas: Mapping[str, int], tests: Any
) -> None:
    """A replica that a test names must exist."""
    from replitune.replicas import replica_ids

    every = backends_of(systems)
    if any(isinstance(backend, Given) for backend in every.values()):
        return  # replicas of such systems are files, which are looked for later
    ids = {
        replica.id
        for backend in every.values()
        for replica in replica_ids(replica_counts(backend, replicas))
    }
    for key in ("methods", "intervals"):
        for number, entry in enumerate(getattr(tests, key)):
            for option in ("replica", "replica_a", "replica_b"):
                wanted = entry.options.get(option)
                if wanted not in (None, "median", "every", *ids):
                    complain(
                        ("tests", key, number, option),
                        f"no system has a run {wanted!r}",
                        expected="median, or one of " + ", ".join(sorted(ids)),
                        fix=did_you_mean(wanted, sorted(ids)),
                    )


def samples_are_of_runs(
    complain: Complain, systems: Mapping[str, Any], replicas: Mapping[str, int], tests: Any
) -> None:
    """With `design: nested`, no test may count each sample as a run, and the runs must be known."""
    if design_of(systems, replicas) != "nested":
        return
    if refused := counting_samples(tests.tests()):
        complain(
            ("tests", "methods"),
            f"{', '.join(refused)} would count each sample as a run",
            found="`design: nested`",
            expected="`crossed`, which counts the samples of a run as one",
        )
    for name, counts in counts_made(systems, replicas).items():
        if alone := {kind: n for kind, n in counts.items() if kind in (*UNGROUPED, "seeds")}:
            complain(
                ("replicas", "design"),
                f"`design: nested`, but the replicas of {name} are not samples of runs",
                found=counts_text(alone),
                expected="prompts with samples, such as `{prompt: 3, sample: 5}`",
            )


def looks_fit(
    complain: Complain,
    replicas: Mapping[str, Any],
    systems: Mapping[str, Any],
    metrics: Sequence[Entry],
    tests: Any,
    corpus: Any,
) -> None:
    """The settings of an experiment that decides how many replicas it needs must fit together."""
    looks = looks_of(replicas)
    if looks is None:
        for key in replicas:
            if key in settings_of(LookSettings) and key != "until":
                complain(
                    ("replicas", key),
                    f"replicas.{key} without `until: settled`",
                    fix=f"add `until: settled`, or leave `{key}` out",
                )
        return
    require_followed(complain, tests, looks, design_of(systems, replicas))
    if looks.record is None:
        _schedule_fits(complain, looks, replicas, systems)
    elif made := counts_made(systems, replicas):
        complain(
            ("replicas", "record"),
            "looks are repeated only at outputs that are given",
            found=f"systems that the experiment makes: {', '.join(made)}",
            fix="leave `record` out",
        )
    metric, testset = ([] if name is None else [name] for name in (looks.metric, looks.testset))
    all_known(complain, ("replicas", "metric"), "metric", metric, [entry.id for entry in metrics])
    tested = [*corpus.tests, *tests.suites]
    all_known(complain, ("replicas", "testset"), "test set", testset, tested)
    if looks.testset is None and len(corpus.tests) > 1:
        complain(
            ("replicas",),
            "no test set is named as the one that decides",
            found=", ".join(tested),
            expected="one of them",
            fix="name it as replicas.testset; a suite is one verdict over several",
        )


def _schedule_fits(
    complain: Complain, looks: LookSettings, replicas: Mapping[str, Any], systems: Mapping[str, Any]
) -> None:
    schedule, path = looks.looks, ("replicas", "looks")
    made = counts_made(systems, replicas)
    unlike = {
        ("systems", name, "replicas") if systems[name].replicas else ("replicas",): counts
        for name, counts in made.items()
        if len({*counts.values()}) > 1
    }
    for place, counts in unlike.items():
        complain(
            place,
            "every look adds the same number of runs of each kind",
            found=counts_text(counts),
            expected="the same number of each",
        )
    most = {name: max(counts.values()) for name, counts in made.items() if counts}
    if not most:
        complain(
            ("replicas", "until"),
            "no system makes runs, so there is nothing to decide",
            fix="for outputs that are there: replitune compare --looks",
        )
    elif max(most.values()) <= schedule[0]:
        complain(
            ("replicas",),
            f"the first look, at {schedule[0]}, already has all runs",
            found=f"at most {max(most.values())}",
            fix="allow more, or leave `until` out",
        )
    elif "looks" in replicas and schedule[-1] > max(most.values()):
        complain(
            path,
            f"a look at {schedule[-1]}, but no system may have so many runs",
            found=f"at most {max(most.values())}",
            fix="allow more, or leave that look out",
        )


def looks_of(replicas: Mapping[str, Any]) -> LookSettings | None:
    """The settings of looks in `replicas`; None if the numbers of replicas are fixed."""
    if replicas.get("until") is None:
        return None
    known = settings_of(LookSettings)
    return LookSettings(**{key: value for key, value in replicas.items() if key in known})


CHECKS: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (has_testsets, ("corpus",)),
    (pairs_exist, ("systems", "names", "tests")),
    (suites_fit, ("tests", "corpus", "metrics")),
    (metrics_differ, ("metrics",)),
    (tests_differ, ("tests",)),
    (people_fit, ("tests", "metrics", "corpus")),
    (studies_fit, ("studies", "metrics", "corpus")),
    (scores_fit, ("metrics", "corpus")),
    (texts_are_there, ("systems", "corpus")),
    (systems_fit, ("systems", "replicas", "corpus", "tuning")),
    (shares_are_equal, ("systems", "replicas", "tests")),
    (replicas_are_there, ("systems", "replicas", "tests")),
    (samples_are_of_runs, ("systems", "replicas", "tests")),
    (looks_fit, ("replicas", "systems", "metrics", "tests", "corpus")),
)


# ---- what the checks use


def may_have_source(given: TestSetFiles) -> bool:
    """Whether a test set may have a source, judged without reading it: plain text files contain none."""
    formats = [given.format or recognise(name) for name in given.reference_files]
    return given.source is not None or not {"text", "blank-lines"}.issuperset(formats)


def backends_of(systems: Mapping[str, Any]) -> dict[str, Backend]:
    """The backend of each system."""
    return {name: BACKENDS[settings.backend](name, settings) for name, settings in systems.items()}


def asked_counts(backend: Backend, replicas: Mapping[str, int]) -> dict[str, int]:
    """The replicas asked of a system: its own `replicas`, or those of the experiment that its backend
    can make."""
    own = backend.settings.replicas
    known = backend.prefixes
    return dict(own or {key: n for key, n in replicas.items() if key in known})


def replica_counts(backend: Backend, replicas: Mapping[str, int]) -> dict[str, int]:
    """How many replicas of each kind a system has."""
    return backend.kinds(asked_counts(backend, replicas))


def counts_made(systems: Mapping[str, Any], replicas: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """`replica_counts` of every system whose outputs the experiment makes."""
    return {
        name: replica_counts(backend, replicas)
        for name, backend in backends_of(systems).items()
        if not isinstance(backend, Given)
    }


def design_of(systems: Mapping[str, Any], replicas: Mapping[str, Any]) -> Design:
    """What replicas are: as the experiment says, or else as their kinds imply. Looks decide about runs,
    so with looks samples count as runs."""
    made = [
        set(asked_counts(backend, replicas))
        for backend in backends_of(systems).values()
        if not isinstance(backend, Given) or backend.settings.replicas
    ]
    said: Design | None = replicas.get("design")
    if said is None and any({"sample", "prompt"} <= kinds for kinds in made):
        return "nested"
    if said is None and replicas.get("until") is None and made and all(k == {"sample"} for k in made):
        return "samples"
    return said or "runs"
