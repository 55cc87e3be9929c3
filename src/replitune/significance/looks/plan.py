"""The plan of looks, made in one way for experiments, for runs in hand, and for advice.

Kept light, because the Snakefile imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NoReturn

import msgspec

from replitune.errors import ReplituneError
from replitune.registry import Entry
from replitune.settings import Path_
from replitune.significance.looks.record import Plan, make_sizes
from replitune.significance.looks.settings import FEWEST, LookSettings
from replitune.significance.registry import LEAD
from replitune.significance.settings import TestSettings, pairs_of_systems

FOLLOWED = {"scope": ("both", "runs"), "noise_ratio": ("none",)}
"""The values that looks can follow, of options of the test that have others, too."""


def make_plan(
    tests: TestSettings,
    looks: LookSettings,
    design: str,
    *,
    testset: str,
    metric: str,
    suite: Mapping[str, float],
    families: int,
    most: Mapping[str, Mapping[str, int]],
    fixed: Iterable[str] = (),
    together: bool,
) -> Plan:
    """What is fixed before the first look; settings that looks cannot follow are refused.

    most: by system, the most replicas of each kind. fixed: systems whose replicas all exist and cost
    nothing, so that the first look uses all of them. together: replicas that are made later may
    differ from the first, for example because the same settings can give other bytes.
    """
    require_followed(_refuse, tests, looks, design)
    return Plan(
        testset=testset,
        metric=metric,
        suite=dict(suite),
        method=tests.lead.id,
        options=dict(tests.lead.options),
        alpha=tests.alpha,
        families=families,
        correction="none" if tests.correction == "none" else "holm",
        doubt=looks.doubt,
        futility=looks.futility,
        skip=looks.skip,
        pairs=pairs_of_systems(tests.pairs, list(most)),
        most={name: dict(counts) for name, counts in most.items()},
        sizes={
            name: make_sizes(counts, () if name in {*fixed} else looks.looks)
            for name, counts in most.items()
        },
        together=together or msgspec.UNSET,
    )


def tests_of(plan: Plan) -> TestSettings:
    """The test that a look makes of every pair; the looks themselves correct for many pairs."""
    lead = Entry(LEAD, plan.options, plan.method)
    return TestSettings(
        methods=(lead,), pairs=tuple(plan.pairs), alpha=plan.alpha, correction="none", intervals=()
    )


def _refuse(path: Path_, message: str, **fields: Any) -> NoReturn:
    raise ReplituneError(message, **fields)


def require_followed(
    complain: Callable[..., Any], tests: TestSettings, looks: LookSettings, design: str
) -> None:
    """Complain about settings that looks cannot follow, with their place in an experiment file."""
    if design != "runs":
        complain(
            ("replicas", "design"),
            "looks need runs: samples have no run effect",
            found=f"design: {design}",
            expected="design: runs",
            fix="leave the looks out (`until: settled`, or --looks)",
        )
    if looks.looks[0] < FEWEST:
        complain(
            ("replicas", "looks", 0),
            f"the first look is at {looks.looks[0]}",
            found=", ".join(map(str, looks.looks)),
            expected=f"{FEWEST} or more",
            fix=f"begin with {FEWEST}: with two, .075 of experiments without a difference find one at .05",
        )
    if any(b <= a for a, b in pairwise(looks.looks)):
        complain(
            ("replicas", "looks"),
            "looks do not rise",
            found=", ".join(map(str, looks.looks)),
            expected="each above the one before",
        )
    lead, place = tests.lead, ("tests", "methods")
    if lead.name != LEAD:
        complain(
            place,
            f"looks use `{LEAD}`, which is not among the tests",
            found=", ".join(entry.id for entry in tests.methods),
            fix=f"add `{LEAD}`",
        )
    for option, followed in FOLLOWED.items():
        given = lead.options.get(option, followed[0])
        if lead.name == LEAD and given not in followed:
            complain(
                (*place, [entry.id for entry in tests.methods].index(lead.id)),
                f"looks use the first `{LEAD}`, which has {option}: {given}",
                expected=f"{option}: {' or '.join(followed)}",
                fix=f"put a `{LEAD}` without it first, and give the other an `id`",
            )
    if tests.correction == "bh":
        complain(
            ("tests", "correction"),
            "looks have no correction `bh`",
            expected="max-t or holm (looks are corrected by Holm), or none",
        )
