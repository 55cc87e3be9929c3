"""One look: `comparing.compare` of the replicas at hand, and the rule of looks, which says what is
settled and which systems get more replicas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from replitune.replicas import Replica
from replitune.results.comparing import compare
from replitune.results.result import Result
from replitune.significance.looks.plan import tests_of
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
from replitune.statistics.segments import SegmentStatistics

DRIFT = 0.01
"""p below which batches of replicas are said to differ."""


@dataclass(eq=False)
class Seen:
    """One pair at a look: what its test shows, and what follows from that beside the other pairs."""

    a: str
    b: str
    n: tuple[int, int]
    outlook: Outlook | None = None
    """None without a p."""
    delta: float | None = None
    shares: tuple[float, float] = (0.0, 0.0)
    """The shares of A and of B in what runs leave open."""
    p_alone: float = 1.0
    """The ordinary p, as if this were the only look."""
    why: str | None = None
    """Why there is no p."""
    needs_runs: bool = False
    """Whether more runs would give a p."""
    p_look: float = 1.0
    """p by the rule, of this look."""
    p: float = 1.0
    """The smallest so far; a settled pair keeps its p."""
    rejected: bool = False
    futile: bool = False
    more: tuple[bool, bool] = (False, False)
    """Whether it asks for more runs of A, and of B."""

    def follow(self, known: PairLook | None) -> None:
        """Take p by the rule, and what the look before found."""
        if self.outlook is not None:
            self.p = self.p_look = float(self.outlook.p())
        if known is not None and known.p is not None:
            self.p = known.p if known.decision == SETTLED else min(self.p, known.p)

    def ask(self, grows: tuple[bool, bool], skip: float) -> None:
        """Ask for more runs, of systems that may have more."""
        if self.outlook is None:
            wanted = [self.needs_runs and not self.rejected and n < FEWEST for n in self.n]
        else:
            state = np.array(self.rejected), np.array(self.futile)
            wanted = asks(*state, np.array(self.shares), skip).tolist()
        self.more = (wanted[0] and grows[0], wanted[1] and grows[1])


def next_look(
    plan: Plan,
    before: Sequence[Look],
    stores: Sequence[SegmentStatistics],
    missing: Mapping[str, Mapping[str, str]] | None = None,
) -> Look:
    """The look that follows `before`.

    Parameters
    ----------
    stores
        The replicas that exist, on the deciding test set or on each test set of the suite in order.
        Those beyond what this look wants are left out.
    missing
        By system, replicas that could not be made, and why.
    """
    wanted = before[-1].wanted if before else plan.first
    given = [first_replicas(store, plan, wanted) for store in stores]
    seen = _seen(plan, wanted, given)
    former = {(p.a, p.b): p for p in before[-1].pairs} if before else {}
    for s in seen:
        s.follow(former.get((s.a, s.b)))
    level = _judge(plan, seen)
    again = {name for name, n in wanted.items() if n > plan.sizes[name][0]}
    larger = {name: plan.following(name, n) for name, n in wanted.items()}
    for s in seen:
        s.futile = s.outlook is not None and bool(again & {s.a, s.b}) and bool(s.outlook.futile(level))
        s.ask((larger[s.a] is not None, larger[s.b] is not None), plan.skip)
    marked = _marked(plan, seen)
    following = {name: n for name, n in larger.items() if n is not None and name in marked}
    if not following:  # the last look: pairs that are still open are tested as usual
        for s in seen:
            if not s.rejected and s.outlook is not None:
                s.p = min(s.p, s.p_alone)
        level = _judge(plan, seen)
    p = np.minimum(plan.families * adjusted(np.array([s.p for s in seen]), plan.correction), 1.0)
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
        pairs=[_row(plan, s, own, level) for s, own in zip(seen, p.tolist(), strict=True)],
        drift=drift if (drift := batches_p(plan, given)) < DRIFT else msgspec.UNSET,
        next=following,
    )


def _seen(plan: Plan, wanted: Mapping[str, int], given: Sequence[SegmentStatistics]) -> list[Seen]:
    """What the test of each pair shows."""
    systems = given[0].systems
    n = {name: systems[name].n if name in systems else 0 for name in wanted}
    tested = tuple(pair for pair in plan.pairs if n[pair[0]] and n[pair[1]])
    settings = msgspec.structs.replace(tests_of(plan), pairs=tested)
    # nothing is drawn, so any seed will do
    compared = compare(given, settings, testset=plan.testset, suite=plan.suite, seed=0, summaries=False)
    return [_see(plan, wanted, compared.metrics[plan.metric], a, b, (n[a], n[b])) for a, b in plan.pairs]


def _judge(plan: Plan, seen: Sequence[Seen]) -> float:
    """Which pairs are rejected together, and the level that the next one has to reach."""
    p = np.array([s.p for s in seen])
    rejected, level = step_down(p, plan.alpha / plan.families, plan.correction)
    for s, settled in zip(seen, rejected.tolist(), strict=True):
        s.rejected = settled
    return float(level)


def _marked(plan: Plan, seen: Sequence[Seen]) -> set[str]:
    """The systems that get more runs: those that pairs ask for, and their partners where runs are made
    together."""
    marked = {name for s in seen for name, asked in zip((s.a, s.b), s.more, strict=True) if asked}
    if plan.options.get("paired"):
        return with_partners(marked, plan.pairs)
    if plan.together is True:
        return with_partners(marked, [(s.a, s.b) for s in seen if not s.rejected])
    return marked


def batches_p(plan: Plan, stores: Sequence[SegmentStatistics]) -> float:
    """p of H0: replicas of a system and kind score alike, whichever look they were made for. F tests
    of the systems, which are independent, are combined by Fisher's method."""
    from scipy.special import chdtrc, fdtrc

    logs = []
    for name, system in stores[0].systems.items():
        weighted = [
            weight * store.metric.score(store.systems[name].sums)
            for store, weight in zip(stores, plan.suite.values() or [1.0], strict=True)
        ]
        scores = np.sum(weighted, axis=0).tolist()
        kinds: dict[str, dict[int, list[float]]] = {}
        for replica, score in zip(map(Replica, system.replicas), scores, strict=True):
            batch = sum(size < replica.index for size in plan.sizes[name])
            kinds.setdefault(replica.prefix, {}).setdefault(batch, []).append(score)
        within = between = 0.0
        for batches in kinds.values():
            every = np.array([score for batch in batches.values() for score in batch])
            inside = math.fsum(len(x) * float(np.var(x)) for x in batches.values())
            within, between = within + inside, between + len(every) * float(np.var(every)) - inside
        looks = sum(len(batches) - 1 for batches in kinds.values())
        df = system.n - looks - len(kinds)
        if looks and df and within > 0:
            p = float(fdtrc(looks, df, max(between, 0.0) / looks / (within / df)))
            logs.append(math.log(max(p, 1e-300)))
    return float(chdtrc(2 * len(logs), -2 * math.fsum(logs))) if logs else 1.0


def all_looks(plan: Plan, stores: Sequence[SegmentStatistics]) -> Record:
    """Every look at replicas that are all in hand, as if they were made one after the other."""
    looks: list[Look] = []
    while not looks or looks[-1].next:
        looks.append(next_look(plan, looks, stores))
    return Record(plan=plan, looks=looks)


def looks_so_far(plan: Plan, stores: Sequence[SegmentStatistics]) -> list[Look]:
    """The looks for which there are enough replicas in hand: none if there are fewer than the first one
    wants. The last one asks for replicas that do not exist, or ends the looks."""
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


def with_partners(marked: set[str], pairs: Sequence[tuple[str, str]]) -> set[str]:
    """These systems and all that pairs connect with them: they get more replicas together."""
    advancing = set(marked)
    while more := {x for a, b in pairs for x in (a, b) if {a, b} & advancing} - advancing:
        advancing |= more
    return advancing


def first_replicas(store: SegmentStatistics, plan: Plan, wanted: Mapping[str, int]) -> SegmentStatistics:
    """The existing replicas that a look wants, in the order of their names."""
    systems = {}
    for name, n in wanted.items():
        if name not in store.systems:
            continue
        system, ids = store.systems[name], {one.id for one in plan.replicas(name, n)}
        keep = [r for r in np.argsort(system.replicas, kind="stable") if system.replicas[r] in ids]
        if keep:
            systems[name] = system.take(keep)
    return replace(store, systems=systems)


def _see(plan: Plan, wanted: Mapping[str, int], result: Result, a: str, b: str, n: tuple[int, int]) -> Seen:
    """One pair, whose systems have n replicas."""
    if min(n) < 1:
        lost = a if n[0] < 1 else b
        return Seen(a, b, n, why=f"no run of {lost}", needs_runs=True)
    row = result.test((a, b), plan.method)
    assert row is not None
    if row.p is None or row.uncertainty is None:
        why = next((note.text for note in row.notes if note.kind.no_p), None)
        return Seen(a, b, n, delta=row.delta, why=why, needs_runs=min(n) < 2)
    # put the parts of the variance from runs first, and among these those of A
    known = row.uncertainty
    order = sorted(range(len(known.runs)), key=lambda part: known.runs[part][0] != a)
    rest = range(len(known.runs), known.parts.values.shape[-1])
    parts = replace(
        known.parts,
        values=known.parts.values[[*order, *rest]],
        nus=np.broadcast_to(known.parts.nus, known.parts.values.shape)[[*order, *rest]],
    )
    runs = [known.runs[part] for part in order]
    share = np.array([len(ids) / (len(ids) + _to_come(plan, wanted, name, ids)) for name, ids in runs])
    rule = RuleSettings(doubt=plan.doubt, futility=plan.futility, skip=plan.skip)
    delta = row.delta if row.analysis is not None else 0.0  # nothing varies, and they are equal
    ahead = outlook(delta, parts, share, rule, known.sign)
    open_ = ahead.shares()
    of_a, of_b = (float(open_[[name == side for name, _ in runs]].sum()) for side in (a, b))
    paired = len({name for name, _ in runs}) == 1
    return Seen(a, b, n, ahead, delta, (of_a + of_b,) * 2 if paired else (of_a, of_b), row.p)


def _to_come(plan: Plan, wanted: Mapping[str, int], system: str, replicas: Sequence[str]) -> int:
    """How many more replicas there may be of the kinds that these replicas have."""
    kinds = {Replica(id).prefix for id in replicas}
    now = plan.counts(system, wanted[system])
    return sum(most - now[kind] for kind, most in plan.most[system].items() if prefix_of(kind) in kinds)


def prefix_of(kind: str) -> str:
    """How the names of replicas of a kind begin."""
    return "seed" if kind == "seeds" else kind


def _row(plan: Plan, s: Seen, p_adjusted: float, level: float) -> PairLook:
    shared: dict[str, Any] = {
        "a": s.a,
        "b": s.b,
        "n_a": s.n[0],
        "n_b": s.n[1],
        "delta": s.delta,
        "note": s.why,
        "more_a": s.more[0],
        "more_b": s.more[1],
    }
    ahead = s.outlook
    if ahead is None:
        known = s.p if s.rejected else None
        return PairLook(**shared, decision=SETTLED if s.rejected else NO_P, p=known)
    half = float(ahead.needed(plan.alpha))
    return PairLook(
        **shared,
        decision=SETTLED if s.rejected else FUTILE if s.futile else OPEN,
        variance=float(ahead.now.variance),
        parts=ahead.now.values.tolist(),
        nus=np.broadcast_to(ahead.now.nus, ahead.now.values.shape).tolist(),
        left=ahead.left.tolist(),
        p_alone=s.p_alone,
        p_look=s.p_look,
        p=s.p,
        p_adjusted=p_adjusted,
        level=level,
        ci_low=float(ahead.delta) - half,
        ci_high=float(ahead.delta) + half,
        movement=float(ahead.movement),
    )
