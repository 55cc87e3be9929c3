"""One look: what the replicas at hand say of every pair, and which systems get more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.replicas import Replica
from replitune.significance.base import Comparison
from replitune.significance.components import Side, sides_of
from replitune.significance.critical import Scope
from replitune.significance.crossed_pair import CrossedPair
from replitune.significance.looks.record import (
    FUTILE,
    NO_P,
    OPEN,
    SETTLED,
    Look,
    PairLook,
    Plan,
    Record,
    SystemLook,
)
from replitune.significance.looks.rule import Outlook, adjusted, asks, outlook, step_down
from replitune.significance.looks.settings import FEWEST, RuleSettings
from replitune.significance.run import scored_by_both
from replitune.significance.system_parts import (
    SMALLEST_DOCUMENTS,
    Analyses,
    effective_documents,
    unit_of,
    weighted,
)
from replitune.statistics.store import SegmentStatistics
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True, eq=False)
class Seen:
    """One pair at a look, before pairs are looked at together."""

    a: str
    b: str
    n: tuple[int, int]
    outlook: Outlook | None
    """None without a p."""
    delta: float | None = None
    shares: tuple[float, float] = (0.0, 0.0)
    """Of what runs leave open, the share of A and that of B."""
    why: str | None = None
    """Why there is no p."""
    few: bool = False
    """More runs would give one."""


def next_look(
    plan: Plan,
    before: Sequence[Look],
    stores: Sequence[SegmentStatistics],
    missing: Mapping[str, Mapping[str, str]] | None = None,
) -> Look:
    """The look after these.

    Parameters
    ----------
    stores
        Of the deciding test set, or of all test sets of the suite in their order: the replicas
        that there are. Those beyond what this look wants are left out.
    missing
        By system, replicas that could not be made, and why.
    """
    wanted = before[-1].wanted if before else plan.first
    given = [first_replicas(store, plan, wanted) for store in stores]
    analyses = Analyses()
    former = {(p.a, p.b): p for p in before[-1].pairs} if before else {}
    seen = [_see(plan, given, wanted, a, b, analyses) for a, b in plan.pairs]
    alpha = plan.alpha / plan.families
    p_look = np.array([np.nan if s.outlook is None else float(s.outlook.p()) for s in seen])
    p = np.where(np.isnan(p_look), 1.0, p_look)
    for i, s in enumerate(seen):
        known = former.get((s.a, s.b))
        if known is None or known.p is None:
            continue
        # what is settled is frozen
        p[i] = known.p if known.decision == SETTLED else min(p[i], known.p)
    rejected, level = step_down(p, alpha, plan.correction)
    again = {name for name, n in wanted.items() if n > plan.sizes[name][0]}
    grows = np.array(
        [[plan.following(name, wanted[name]) is not None for name in (s.a, s.b)] for s in seen]
    )
    futile = np.array(
        [s.outlook is not None and bool(again & {s.a, s.b}) and bool(s.outlook.futile(level)) for s in seen]
    )
    shares = np.array([s.shares for s in seen])
    more = asks(rejected, futile, shares, plan.skip) & grows
    for i, s in enumerate(seen):
        if s.outlook is None and not rejected[i]:
            more[i] = [s.few and g and n < FEWEST for g, n in zip(grows[i], s.n, strict=True)]
    marked = {
        name
        for s, asks in zip(seen, more, strict=True)
        for name, asked in zip((s.a, s.b), asks, strict=True)
        if asked
    }
    if plan.options.get("paired"):
        marked = together(marked, plan.pairs)
    growing = {name: plan.following(name, wanted[name]) for name in wanted if name in marked}
    following = {name: n for name, n in growing.items() if n is not None}
    if not following:  # the last look: what is left is tested as it stands
        for i, s in enumerate(seen):
            if not rejected[i] and s.outlook is not None:
                p[i] = min(p[i], float(s.outlook.p_now()))
        rejected, level = step_down(p, alpha, plan.correction)
    p_adjusted = np.minimum(plan.families * adjusted(p, plan.correction), 1.0)
    pairs = [
        _row(
            plan,
            s,
            float(p_look[i]),
            float(p[i]),
            float(p_adjusted[i]),
            float(level),
            bool(rejected[i]),
            bool(futile[i]),
            more[i],
        )
        for i, s in enumerate(seen)
    ]
    return Look(
        number=len(before) + 1,
        systems={
            name: SystemLook(
                n=n,
                replicas=sorted(given[0].systems[name].replicas) if name in given[0].systems else [],
                missing={
                    id: why
                    for id, why in sorted((missing or {}).get(name, {}).items())
                    if Replica(id) in plan.replicas(name, n)
                },
            )
            for name, n in wanted.items()
        },
        pairs=pairs,
        next=following,
    )


def all_looks(plan: Plan, stores: Sequence[SegmentStatistics]) -> Record:
    """Every look at replicas that are all in hand, as if they were made one after the other."""
    looks: list[Look] = []
    while not looks or looks[-1].next:
        looks.append(next_look(plan, looks, stores))
    return Record(plan=plan, looks=looks)


def looks_so_far(plan: Plan, stores: Sequence[SegmentStatistics]) -> list[Look]:
    """The looks at replicas that are in hand, as far as these go: none when there are fewer than
    the first one wants. The last one asks for what is not there, or is the end."""
    have = {
        name: min(
            (
                sum(Replica(id).prefix == prefix_of(kind) for id in system.replicas)
                for kind in plan.most[name]
            ),
            default=0,
        )
        for name, system in stores[0].systems.items()
    }
    looks: list[Look] = []
    wanted = plan.first
    while all(have.get(name, 0) >= min(n, *plan.most[name].values()) for name, n in wanted.items()):
        looks.append(next_look(plan, looks, stores))
        if not looks[-1].next:
            break
        wanted = looks[-1].wanted
    return looks


def together(marked: set[str], pairs: Sequence[tuple[str, str]]) -> set[str]:
    """With the systems whose replicas are paired with theirs: they advance together."""
    found = set(marked)
    while more := {x for a, b in pairs for x in (a, b) if {a, b} & found} - found:
        found |= more
    return found


def first_replicas(store: SegmentStatistics, plan: Plan, wanted: Mapping[str, int]) -> SegmentStatistics:
    """The replicas that a look wants, of those that there are, in the order of their names."""
    systems = {}
    for name, n in wanted.items():
        if name not in store.systems:
            continue
        system, ids = store.systems[name], {one.id for one in plan.replicas(name, n)}
        keep = [r for r in np.argsort(system.replicas, kind="stable") if system.replicas[r] in ids]
        if keep:
            systems[name] = _only(system, np.array(keep))
    return replace(store, systems=systems)


def _only(system: SystemStatistics, keep: NDArray[np.intp]) -> SystemStatistics:
    if np.array_equal(keep, np.arange(system.n)):
        return system
    return SystemStatistics(
        system.name,
        tuple(system.replicas[r] for r in keep),
        tuple(system.groups[r] for r in keep),
        system.statistics[keep],
    )


def _see(
    plan: Plan,
    stores: Sequence[SegmentStatistics],
    wanted: Mapping[str, int],
    a: str,
    b: str,
    analyses: Analyses,
) -> Seen:
    have = tuple(stores[0].systems[name].n if name in stores[0].systems else 0 for name in (a, b))
    n = (have[0], have[1])
    if min(n) < 1:
        lost = a if n[0] < 1 else b
        return Seen(a, b, n, None, why=f"no replica of {lost}", few=True)
    pair, effective = _pair(plan, stores, a, b, analyses)
    delta = pair.delta
    if not np.isfinite(delta):
        raise ReplituneError(f"{plan.metric} has no finite score for {a} or {b}")
    if not pair.estimable or pair.components is None:
        return Seen(a, b, n, None, delta, why="one replica: noise of runs unknown", few=min(n) < 2)
    if effective < SMALLEST_DOCUMENTS:
        return Seen(a, b, n, None, delta, why="too few documents")
    if not pair.varies:
        if abs(delta) > pair.slack:
            return Seen(a, b, n, None, delta, why="zero variance")
        delta = 0.0
    parts = [
        (number, len(members) / (len(members) + _to_come(plan, wanted, pair, side, members)))
        for number, side in enumerate(pair.sides)
        for members in side.strata
    ]
    share = np.array([fraction for _, fraction in parts])
    rule = RuleSettings(doubt=plan.doubt, futility=plan.futility, skip=plan.skip)
    found = outlook(delta, pair.parts, share, rule)
    of = found.shares()
    if len(pair.sides) == 1:
        total = float(of.sum())
        shares = (total, total)
    else:
        side_of = np.array([number for number, _ in parts])
        shares = (float(of[side_of == 0].sum()), float(of[side_of == 1].sum()))
    return Seen(a, b, n, found, delta, shares)


def _pair(
    plan: Plan, stores: Sequence[SegmentStatistics], a: str, b: str, analyses: Analyses
) -> tuple[CrossedPair, float]:
    """The pair as `crossed` sees it, and the effective documents that it has, where they are the
    unit."""
    options = plan.options
    scope: Scope = "runs" if options.get("scope") == "runs" else "both"
    metric = stores[0].metric
    comparisons = [
        scored_by_both(Comparison(store.metric, store.systems[a], store.systems[b], store.documents))
        for store in stores
    ]
    weights = [*plan.suite.values()] or [1.0]
    units = [unit_of(c, str(options.get("unit", "auto")), scope) for c in comparisons]
    documents = [
        c.documents if of == "document" else None for c, of in zip(comparisons, units, strict=True)
    ]
    of_a, of_b = (
        weighted(
            [
                analyses.of(c.metric, system, d)
                for c, system, d in zip(comparisons, systems, documents, strict=True)
            ],
            weights,
        )
        for systems in ([c.a for c in comparisons], [c.b for c in comparisons])
    )
    paired = bool(options.get("paired", False))
    sides = sides_of(of_a, of_b, str(options.get("strata", "groups")), paired)
    effective = min(
        (effective_documents(d) for d in documents if d is not None and scope != "runs"), default=np.inf
    )
    pair = CrossedPair(of_a, of_b, sides, scope, "two-sided", paired, metric.higher_is_better)
    return pair, float(effective)


def _to_come(
    plan: Plan, wanted: Mapping[str, int], pair: CrossedPair, side: Side, members: NDArray[np.intp]
) -> int:
    """How many more replicas of the kinds of a group there may be."""
    system = pair.b if side.sign > 0 and len(pair.sides) == 2 else pair.a
    kinds = {Replica(system.replicas[r]).prefix for r in members}
    now = plan.counts(system.name, wanted[system.name])
    return sum(
        most - now[kind] for kind, most in plan.most[system.name].items() if prefix_of(kind) in kinds
    )


def prefix_of(kind: str) -> str:
    """Of the names of replicas of a kind."""
    return "seed" if kind == "seeds" else kind


def _row(
    plan: Plan,
    s: Seen,
    p_look: float,
    p: float,
    p_adjusted: float,
    level: float,
    rejected: bool,
    futile: bool,
    more: NDArray[np.bool_],
) -> PairLook:
    shared: dict[str, Any] = {
        "a": s.a,
        "b": s.b,
        "n_a": s.n[0],
        "n_b": s.n[1],
        "delta": s.delta,
        "note": s.why,
    }
    decision = SETTLED if rejected else NO_P if s.outlook is None else FUTILE if futile else OPEN
    if s.outlook is None:
        known = p if rejected else None
        return PairLook(**shared, decision=decision, more_a=bool(more[0]), more_b=bool(more[1]), p=known)
    found = s.outlook
    half = float(found.needed(plan.alpha))
    return PairLook(
        **shared,
        variance=float(found.now.variance),
        parts=found.now.values.tolist(),
        nus=np.broadcast_to(found.now.nus, found.now.values.shape).tolist(),
        left=found.left.tolist(),
        p_alone=float(found.p_now()),
        p_look=p_look,
        p=p,
        p_adjusted=p_adjusted,
        level=level,
        ci_low=float(found.delta) - half,
        ci_high=float(found.delta) + half,
        movement=float(found.movement),
        decision=decision,
        more_a=bool(more[0]),
        more_b=bool(more[1]),
    )
