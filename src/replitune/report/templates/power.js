// The power of `crossed` under a plan, from the variance components of a pair: as
// replitune.significance.studies.planned has it, node for node. The tests hold both together.
const power = (() => {
  const NODES = 256;

  // ---- special functions
  const logGamma = (x) => {
    const c = [76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155,
      0.1208650973866179e-2, -0.5395239384953e-5];
    let t = x + 5.5;
    t -= (x + 0.5) * Math.log(t);
    let sum = 1.000000000190015;
    c.forEach((value, i) => { sum += value / (x + 1 + i); });
    return -t + Math.log((2.5066282746310005 * sum) / x);
  };
  // regularised lower incomplete gamma: series, or continued fraction
  const gammaP = (a, x) => {
    if (x <= 0) return 0;
    const scale = Math.exp(-x + a * Math.log(x) - logGamma(a));
    if (x < a + 1) {
      let term = 1 / a, sum = term;
      for (let n = 1; n < 10000; n++) {
        term *= x / (a + n);
        sum += term;
        if (term < sum * 1e-15) break;
      }
      return sum * scale;
    }
    let b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (let i = 1; i < 10000; i++) {
      const an = -i * (i - a);
      b += 2;
      d = 1 / (an * d + b || 1e-300);
      c = b + an / c || 1e-300;
      h *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return 1 - scale * h;
  };
  const ndtr = (x) => {
    const half = gammaP(0.5, (x * x) / 2) / 2;
    return x < 0 ? 0.5 - half : 0.5 + half;
  };
  // where an increasing function is p, by halving; sure, and fast enough for a few hundred
  const invert = (f, p, low, high) => {
    while (f(high) < p) high *= 2;
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      if (f(middle) < p) low = middle; else high = middle;
    }
    return (low + high) / 2;
  };
  const chiQuantile = (nu, p) => {
    if (nu > 5000) { // Wilson and Hilferty
      const z = ndtri(p), k = 2 / (9 * nu);
      return nu * (1 - k + z * Math.sqrt(k)) ** 3;
    }
    return invert((x) => gammaP(nu / 2, x / 2), p, 0, nu + 10);
  };
  const ndtri = (p) => {
    if (p < 0.5) return -ndtri(1 - p);
    return p === 0.5 ? 0 : invert(ndtr, p, 0, 4);
  };
  const betaFraction = (a, b, x) => {
    let c = 1, d = 1 / (1 - ((a + b) * x) / (a + 1) || 1e-300), h = d;
    for (let m = 1; m < 2000; m++) {
      let an = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / (1 + an * d || 1e-300); c = 1 + an / c || 1e-300; h *= d * c;
      an = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / (1 + an * d || 1e-300); c = 1 + an / c || 1e-300; h *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return h;
  };
  const betaI = (a, b, x) => {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x));
    return x < (a + 1) / (a + b + 2) ? (front * betaFraction(a, b, x)) / a : 1 - (front * betaFraction(b, a, 1 - x)) / b;
  };
  const tQuantile = (df, q) => { // upper tail
    if (df > 1e7) return -ndtri(q);
    const cdf = (t) => 1 - betaI(df / 2, 0.5, df / (df + t * t)) / 2;
    return invert(cdf, 1 - q, 0, 8);
  };
  // quantiles of t are asked for at every node: a table in 1/df
  const tables = new Map();
  const tTable = (q) => {
    if (!tables.has(q)) {
      const size = 1000;
      tables.set(q, Float64Array.from({ length: size + 1 }, (_, i) => (i ? tQuantile(size / i, q) : -ndtri(q))));
    }
    return tables.get(q);
  };
  const tOf = (df, q) => {
    const table = tTable(q), at = Math.min(1, 1 / df) * (table.length - 1), i = Math.min(Math.floor(at), table.length - 2);
    return table[i] + (at - i) * (table[i + 1] - table[i]);
  };

  // ---- the plan
  const quasiRandom = (size, dims) => {
    let root = 2;
    for (let i = 0; i < 60; i++) root = (1 + root) ** (1 / (dims + 1));
    return Array.from({ length: size }, (_, i) =>
      Array.from({ length: dims }, (_, k) => Math.min(Math.max((0.5 + (i + 1) * root ** -(k + 1)) % 1, 1e-12), 1 - 1e-12)));
  };
  const drawn = new Map();
  const chiSquares = (nus) => { // (nodes, dims), mean 1
    const key = nus.join(" ");
    if (!drawn.has(key)) {
      const points = quasiRandom(NODES, nus.length);
      const rows = points.map((row) => row.map((u, k) => chiQuantile(nus[k], u) / nus[k]));
      const means = nus.map((_, k) => rows.reduce((sum, row) => sum + row[k], 0) / NODES);
      drawn.set(key, rows.map((row) => row.map((x, k) => x / means[k])));
    }
    return drawn.get(key);
  };
  // values and degrees of freedom of the parts -> critical value, as `critical.layers`
  const critical = (values, nus, q) => {
    const order = values.map((v, k) => [v / nus[k], nus[k]]).sort((x, y) => x[0] - y[0]);
    let df = nus.reduce((sum, nu) => sum + nu, 0), before = 0, total = 0, sum = 0;
    for (const [level, nu] of order) {
      const weight = (level - before) * df;
      total += weight;
      if (weight > 0) sum += weight * tOf(df, q);
      before = level;
      df -= nu;
    }
    return sum / total;
  };
  // parts: variances of one run of A and of B (or of differences of paired runs), of a segment for the
  // difference, of a run on a segment; units: effective units for one segment
  const model = (parts, segments) => {
    const per = segments / parts.set[1];
    return { replica: parts.runs.map((row) => row[0] ** 2), segment: parts.set[0] ** 2 * per,
      interaction: parts.rest.map((sd) => sd ** 2 * per), units: 1 / per };
  };
  const planned = (m, runs, N, tuners, alpha) => {
    const n = m.replica.length === 1 ? [runs[0]] : runs;
    const both = m.interaction.map((s2, i) => s2 / N / n[i]);
    const rep = m.replica.map((s2, i) => s2 / n[i] + both[i]);
    const noise = both.reduce((x, y) => x + y, 0), own = m.segment / N;
    const se = Math.sqrt(rep.reduce((x, y) => x + y, 0) + own);
    const nuRep = n.flatMap((k) => Array(tuners).fill(k / tuners - 1));
    const nuSet = Math.max(m.units * N - 1, 1);
    const values = n.flatMap((_, i) => Array(tuners).fill(rep[i] / tuners));
    const reach = chiSquares([...nuRep, nuSet]).map((row) => {
      const runsHere = values.map((v, k) => v * row[k]);
      const sumRuns = runsHere.reduce((x, y) => x + y, 0);
      const set = (own + noise) * row[nuRep.length];
      const net = Math.max(set - noise, 0);
      const variance = Math.max(sumRuns + set - noise, sumRuns, set);
      if (!(variance > 0)) return 0;
      const nuNet = Math.max(nuSet * (set > 0 ? net / set : 0), 1);
      return critical([...runsHere, net], [...nuRep, nuNet], alpha / 2) * Math.sqrt(variance);
    });
    const share = (delta) => reach.reduce((sum, r) => {
      const gap = Math.abs(delta) - r;
      return sum + (se > 0 ? ndtr(gap / se) : gap > 0 ? 1 : 0);
    }, 0) / reach.length;
    const detectable = (wanted = 0.8) => {
      let low = 0, high = Math.max(...reach) + 9 * se;
      for (let i = 0; i < 40; i++) {
        const middle = (low + high) / 2;
        if (share(middle) < wanted) low = middle; else high = middle;
      }
      return (low + high) / 2;
    };
    return { se, power: share, detectable };
  };
  const known = new Map();
  // what this experiment finds four times in five, of B - A
  const detectable = (c, pair, alpha) => {
    if (!pair) return null;
    if (pair.detectable !== null) return pair.detectable;
    if (!known.has(pair)) {
      let found = null;
      const runs = pair.parts ? pair.parts.runs.map((row) => row[1]) : [];
      if (pair.parts && !c.suite && Math.min(...runs) > pair.parts.tuners) {
        found = planned(model(pair.parts, c.segments), runs, c.segments, pair.parts.tuners, alpha).detectable();
      } else if (pair.se > 0) {
        const df = pair.df ?? 1e9;
        found = pair.se * (tQuantile(df, alpha / 2) + tQuantile(df, 0.2));
      }
      known.set(pair, found);
    }
    return known.get(pair);
  };
  return { model, planned, detectable, tQuantile, chiQuantile, ndtr };
})();
