from dataclasses import dataclass, field
import numpy as np
from replitune.streams import stream
@dataclass(frozen=True)
class SystemSummary:
    n: int
    avg: float
    scores: dict
    s_sel: float | None
    s_dev: float | None
    s_test: float | None
    median_replica: str
    ci: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)
def summarise(metric, system, documents, *, testset, seed, samples, alpha, dev=None):
    sc = metric.score(system.sums)
    rng = stream(seed, "test", testset, "segments")
    N = system.segments
    w = rng.multinomial(N, np.full(N, 1/N), size=1000)
    s = np.array([metric.score(w @ st).std(ddof=1) for st in system.statistics.astype(float)])
    order = sorted(range(system.n), key=lambda r: (sc[r], system.replicas[r]))
    return SystemSummary(system.n, float(sc.mean()), dict(zip(system.replicas, map(float, sc))), float(s.mean()), None if dev is None or dev.n<2 else float(metric.score(dev.sums).std(ddof=1)), None if system.n<2 else float(sc.std(ddof=1)), system.replicas[order[(system.n-1)//2]])
