"""Small valid files of every format, and words that hurt parsers."""

from __future__ import annotations

import gzip
import io
import json

TEXT = "\ufeffthe cat\r\n\u2028x\u0085y\n\nlast".encode()
GZIP = gzip.compress(b"a b\nc\n", mtime=0)
TSV = b"doc\tsource\tref\td\nd1\tdas\tthe\tx\nd1\tein\ta\ty\nd2\t\t\tz\n"
JSONL = (
    '{"document": "d", "source": "x", "references": ["a", "b"]}\n'
    '{"document": "d", "source": "y", "references": ["ü", ""]}\n'
).encode()
XML = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<dataset id="x"><doc id="d1" origlang="en">'
    b'<src lang="de"><p><seg id="1">das &amp; ein</seg></p></src>'
    b'<ref lang="en" translator="A"><p><seg id="1">the &lt;b&gt;</seg></p></ref>'
    b'<hyp system="s"><seg id="1">h</seg></hyp></doc></dataset>\n'
)
BOMB = (
    b'<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    b'<dataset><doc id="d"><ref translator="A"><seg id="1">&b;&f;</seg></ref></doc></dataset>'
)
SGM = (
    b'<!DOCTYPE mteval SYSTEM "x.dtd">\n<refset setid="s" srclang="any" trglang=en refid="r">\n'
    b'<DOC docid="d1" sysid="r">\n<hl>\n<seg id="1">a < b & c &quot;</seg>\n</hl>\n<p>\n'
    b"<seg id=2>two\nlines</seg>\n</p>\n</DOC>\n</refset>\n"
)
NBEST = (
    b"0 ||| the cat ||| LM0= -1.5 TM0= 0.25 -3e-2 ||| -1.2\n"
    b"0 ||| a cat ||| LM0= -2 TM0= .5 1e300 ||| -3 ||| x\r\n"
    b"1 |||  ||| LM0= 123456789.123456789 TM0= -0 7. ||| 0\n"
)
ARPA = (
    b"\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-1.5\t<unk>\t0\n-99\t<s>\t-0.3\n-1\t</s>\n"
    b"-0.5 cat -0.25\n\n\\2-grams:\n-0.1\t<s> cat\n-inf\tcat </s>\n\n\\end\\\n"
)
WEIGHTS = b'{"weights": {"LM0": [0.5], "TM0": [0.2, -1e-3], "W": 1}, "dev_score": 20.1}'
INI = b"# x\n[feature]\nLM order=3\n[weight]\nLM0= 0.5\nTM0= 0.2 -.3\n\n[x]\ny\n"
SCORES = b"system\treplica\tsegment\tscore\tdocument\na\t1\t0\t0.5\td\na\t1\t1\t\td\nb\t2\t0\t-1e3\td\n"
SCORE_LINES = (
    b'{"system": "a", "replica": 1, "segment": 0, "score": 0.5}\n'
    b'{"system": "a", "replica": 2, "segment": 1, "score": null, "document": "d"}\n'
)
LM_EVAL = (
    b'{"doc_id": 0, "doc": {"q": 1}, "resps": [["a", "b"]], "filtered_resps": ["a"], "filter": '
    b'"none", "metrics": ["acc"], "acc": 1.0}\n'
)
EVERY_EVAL_EVER = (
    b'{"evaluation_id": "e", "model_id": "m", "evaluation_name": "n", "sample_id": "1", '
    b'"evaluation": {"score": 0.5, "is_correct": true}}\n'
)
PROMPTFOO = (
    b'{"evalId": "e", "results": {"results": [{"promptIdx": 0, "testIdx": 0, "vars": {"q": "1"}, '
    b'"provider": {"id": "p"}, "prompt": {"label": "l"}, "score": 1, "namedScores": {"n": 2}}]}}'
)
WMT_SCORES = b'{"language_pair": "en-cs_CZ", "document_id": "d", "metric_scores": {"chrF": [1.5, 2]}}\n'
WMT_JUDGED = (
    b'{"doc_id": "en-cs_CZ_#_news_#_d_#_0", "tgt_text": {"A": "t"}, "scores": {"A": {"human": 7.0'
    b', "errors": []}}}\n'
)
INSPECT = b'id,epoch,model,score_match\nq1,1,m,C\nq1,2,m,"I"\n'
INSPECT_LOG = (
    b'{"eval": {"run_id": "r", "task": "t", "model": "m"}, "samples": [{"id": 1, "epoch": 1, '
    b'"scores": {"match": {"value": "C"}}}]}'
)
SEG_SCORE = b"A\t0.5\nA\tNone\nB\t1e-3\nB\t2\n"
NUMBERS = b"0.5\n-1\n\n3e4\n0.7\n"
GENERATIONS = b'{"id": "a", "model": "m", "scores": [1, 0.5, true]}\n'
ARRAY = b'[{"system": "a", "replica": 1, "id": "x", "score": 0.5}]'
COMET = b'{\n "a.run1.txt": [{"src": "s", "mt": "t", "ref": "r", "COMET": 0.5}]}'
HELM = (
    b'[{"instance_id": "id1", "train_trial_index": 0, "stats": [{"name": {"name": "exact_match", '
    b'"split": "test"}, "count": 1, "sum": 1.0, "mean": 1.0}]}]'
)
DEEPEVAL = (
    b'{"testRunData": {"testCases": [{"name": "c1", "metricsData": [{"name": "Faithful", "score": 0.5, '
    b'"error": null}]}], "conversationalTestCases": []}}'
)
TERMINAL_BENCH = (
    b'{"results": [{"trial_name": "t.1-of-2", "task_id": "t", "is_resolved": true, "uuid": "u"}, '
    b'{"trial_name": "t.2-of-2", "task_id": "t", "is_resolved": null}], "accuracy": 0.5}'
)
JUDGEMENTS = b'System,"Seg Id",score,annotator\nA,0,70,"x, y"\nA,1,,z\nB,1,-.5,"x, y"\n'
RANKED = b"SYS SID RAW.SCR Z.SCR N\nA 0 70 .5 1\nB 0 40\t-.5 1\n"
BY_ORDER = b"A\t70\nA\tNone\nB 40\n"
EXPERIMENT = b"""experiment: x
seed: 0
corpus: {kind: synthetic, dev: 3, tests: {t: 3}}
systems:
  a: {backend: corruption, errors: 0.2}
  b: {backend: outputs, files: {t: {mert: "{x,y}.txt"}, dev: {mert: [m, n]}}}
replicas: {seeds: 2}
metrics: [bleu, {name: ter, id: t2, normalized: true}]
tests: {samples: 9, alpha: 0.1, pairs: [[a, b]], methods: [crossed, {name: clark, id: c}]}
scales: {small: {replicas: {seeds: 1}}}
"""
ALIASES = b"""experiment: &n x
corpus: &c {kind: synthetic, tests: {t: 1}}
systems: {a: &s {backend: corruption}, b: *s}
scales: {s: {corpus: *c}}
"""
MANIFEST = json.dumps(
    {
        "files": {"stats/t/bleu/a.parquet": "0" * 64},
        "not_packed": {"models/a/model.json": "1" * 64},
        "settings": {},
        "inputs": {},
        "outputs_given": {},
        "jobs": {},
    }
).encode()


def parquet() -> bytes:
    """A store as anybody can write one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "system": ["a", "a", "b", "b"],
            "replica": [1, 1, 1, 1],
            "segment": pa.array([0, 1, 0, 1], pa.int8()),
            "score": [0.5, 0.25, 1.0, 0.0],
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out, compression="none")
    return out.getvalue()


NASTY = (
    *(b"", b"\0", b"\r", b"\n", b"\r\n", b"\t", b" ", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    *("\u2028".encode(), "\u0660".encode(), "²".encode(), "\U0010ffff".encode()),
    *(b"nan", b"inf", b"-inf", b"1e999", b"1_0", b"0x10", b"9" * 5000, b"-1", b"1e-400", b"NaN"),
    *(b"../../x", b"/etc/passwd", b"$(id)", b"; id", b"`id`", b"'", b'"', b"\\", b"%s", b"{}"),
    *(b"&#0;", b"&#xD800;", b"&lt;", b"&x;", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"</seg>"),
    *(b"[" * 3000, b"{" * 200, b"(" * 200, b"&a", b"*a", b"<<: *a", b"!!python/object:os.system"),
    *(b"!!float x", b"2020-99-99", b"0b_", b"1:2", b"? ", b"- ", b"null", b"true", b"~", b".nan"),
    *(b".inf", b"1.0", b"2.5", b"|||", b" ||| ", b"=", b"= ", b"\\end\\", b"\\data\\", b"[weight]"),
)
"""Words to put into files."""
