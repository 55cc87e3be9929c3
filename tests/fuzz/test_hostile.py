"""Input that somebody made to do harm, or that went wrong on its way."""

from __future__ import annotations

import ast
import gzip
import json
import resource
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replitune.corpus.outputs import expand
from replitune.corpus.reader import read_testset
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import load
from replitune.ledger.manifest import stays_inside
from replitune.readers.names import natural
from replitune.running import files
from replitune.running.files import read_lines
from replitune.statistics.store import METADATA_KEY, read_stores
from replitune.tuning.weights import read_weights
from support import ROOT

from . import seeds
from .targets import TARGETS


def test_no_eval_no_pickle_no_shell_and_only_safe_yaml():
    """In the product and in everything else that is Python here."""
    calls = 0
    for path in (p for top in ("src", "scripts") for p in sorted((ROOT / top).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
                assert not forbidden & {name.split(".")[0] for name in names}, where
            if not isinstance(node, ast.Call):
                continue
            calls += 1
            name = ast.unparse(node.func)
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            assert name not in ("eval", "exec", "os.system", "os.popen"), where
            assert not name.startswith(("pickle.", "marshal.", "subprocess.getoutput")), where
            shell = given.get("shell")
            assert shell is None or (isinstance(shell, ast.Constant) and not shell.value), where
            if name in ("yaml.compose", "yaml.load", "yaml.load_all"):
                loader = given["Loader"] if "Loader" in given else node.args[1]
                assert ast.unparse(loader) in ("yaml.SafeLoader", "yaml.CSafeLoader"), where
            if name in ("np.load", "numpy.load"):
                allowed = given.get("allow_pickle")
                assert allowed is None or (isinstance(allowed, ast.Constant) and allowed.value is False), (
                    where
                )
            if name.endswith("read_pickle") or name == "joblib.load":
                raise AssertionError(where)
    assert calls > 5000


def test_the_library_opens_no_connection():
    """What is fetched is fetched by sacrebleu, pymarian or scripts/ (docs/security.md); a server is asked
    where an experiment names one."""
    clients = {"socket", "ssl", "requests", "urllib.request", "http.client", "ftplib", "smtplib"}
    modules = 0
    for path in sorted({*(ROOT / "src").rglob("*.py")} - {*(ROOT / "src").rglob("endpoint/client.py")}):
        modules += 1
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {node.module or "", *(f"{node.module}.{a.name}" for a in node.names)}
            else:
                continue
            assert not names & clients, f"{path.relative_to(ROOT)}:{node.lineno}"
    assert modules > 200


def test_rules_quote_what_they_put_into_a_shell():
    """Every field of the rules' one command is quoted, a number, or a word of ours."""
    import re

    ours = {"params.stage", "threads", "params.allow"}
    rules = ROOT / "workflow" / "rules"
    for path in sorted(rules.glob("*.smk")):
        for block in re.findall(r"shell:\n(.*?)(?:\n\n|\Z)", path.read_text(), re.S):
            assert "command(" in block, path.name
    fields = set()
    for file, function in (("common.smk", "command"), ("storage.smk", "in_storage")):
        body = (rules / file).read_text().partition(f"def {function}(")[2].partition("\n\n\n")[0]
        fields |= set(re.findall(r"\{+([a-z.:]+)\}+", body))
    made_here = {
        "stage",
        "option",
        "job",
        "below",
    }  # below: the folder of the experiment, whose name is plain
    assert {"params.job:q", "threads", "log.text:q", "log.record:q"} == fields - made_here
    for option in re.findall(r"command\((.*?)\)", "".join(p.read_text() for p in rules.glob("*"))):
        for field in re.findall(r"\{+([a-z.:]+)\}+", option):
            assert field in ours


@pytest.mark.parametrize(
    "where", ["experiment", "system", "test set", "metric", "metric id", "method", "group"]
)
@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/x",
        "a/b",
        "x; id",
        "$(id)",
        "x\n",
        "x\nid",
        "",
        ".",
        "-x",
        "a b",
        "ä",
        "a\u0308",
        "x\u200bx",
        "x\0",
    ],
)
def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path, where: str, name: str):
    if (where, name) == ("system", "ä"):
        return  # systems may have letters of other scripts
    experiment = {
        "experiment": "e",
        "corpus": {"kind": "synthetic", "tests": {"t": 1}},
        "systems": {"a": {"backend": "outputs", "files": {"t": {"mert": "x"}}}},
        "metrics": ["bleu"],
        "tests": {"methods": ["clark"]},
    }
    if where == "experiment":
        experiment["experiment"] = name
    elif where == "system":
        experiment["systems"] = {name: experiment["systems"]["a"]}
    elif where == "test set":
        experiment["corpus"]["tests"] = {name: 1}
        experiment["systems"]["a"]["files"] = {name: "x"}
    elif where == "metric":
        experiment["metrics"] = [name]
    elif where == "metric id":
        experiment["metrics"] = [{"name": "bleu", "id": name}]
    elif where == "method":
        experiment["tests"]["methods"] = [name]
    else:
        experiment["systems"]["a"]["files"]["t"] = {name: "x"}
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(experiment, allow_unicode=True), "utf-8")
    with pytest.raises(ReplituneError):
        load(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "too large"),
        ("a: &a {b: *a}", "too large"),
        (
            "a0: &a0 [x, x]\n"
            + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 30)),
            "too large",
        ),
        ("a: " + "[" * 2000, "nested"),
        ("a: 2020-99-99", "not valid YAML"),
        ("a: !!python/object/apply:os.system [id]", "not valid YAML"),
        ("seed: .nan", "finite"),
        ("seed: 1.0e+400", "finite"),
        ("seed: " + "9" * 30, "63 bits"),
        ("seed: 3.0", "whole number"),
        ("replicas: {seeds: 2.0}", "whole number"),
        ("corpora: 2020-01-01", "dates in quotes"),
        ("1: x", "not text"),
        ('corpora: "\\0"', "NUL"),
        ('corpora: "\\ud800"', "surrogate"),
        ("tests: {alpha: .nan}", "finite"),
        ("scale: [x]\nscales: {x: {}}", "a text"),
        ("scale: x\nscales: [x]", "a mapping"),
        ("scale: x\nscales: {x: 1}", "a mapping"),
        ("a: !!float x", "not valid YAML"),
        ("a: !!float", "not valid YAML"),
        ("a: !!bool x", "not valid YAML"),
        ("a: !!timestamp x", "not valid YAML"),
    ],
)
def test_yaml_that_harms_is_refused(tmp_path: Path, text: str, message: str):
    file = tmp_path / "x.yaml"
    base = "experiment: e\ncorpus: {kind: synthetic}\nsystems: {s: {backend: corruption}}\n"
    file.write_text(base + text)
    with pytest.raises(ReplituneError, match=message):
        load(file)


@pytest.mark.parametrize("pattern", ["{1..1000}", "{1..999999999}", "{a,b}" * 40, "{1..999}{a,b}"])
def test_braces_do_not_fill_the_memory(pattern: str):
    with pytest.raises(ReplituneError, match="999"):
        expand(pattern, Path("."))


def test_names_with_digits_that_are_no_numbers_sort():
    assert sorted(["run²", "run10", "run2", "run٣"], key=natural) == ["run2", "run٣", "run10", "run²"]


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes([97]) * (1 << 24)
    bomb = b"".join(packer.compress(block) for _ in range(64)) + packer.flush()
    assert len(bomb) < 1.1e6, "a gigabyte in a megabyte"
    (tmp_path / "bomb.gz").write_bytes(bomb)
    code = (
        "import sys; from replitune.running.files import read_lines\n"
        "from replitune.errors import ReplituneError\n"
        "try: read_lines(sys.argv[1])\n"
        "except ReplituneError as error: print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "bomb.gz"],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20)),
    )
    assert "compressed data that unpacks to too much" in ran.stdout
    assert "set REPLITUNE_UNPACKED_RATIO to a larger number" in ran.stdout
    assert not ran.stderr


def test_text_that_packs_well_is_read(tmp_path: Path):
    lines = ["the same line again"] * 400_000
    data = gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9)
    (tmp_path / "t.gz").write_bytes(data)
    assert read_lines(tmp_path / "t.gz") == lines


def test_a_file_larger_than_the_memory_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(files, "largest_text", lambda: 1000)
    (tmp_path / "fits").write_bytes(b"a\n" * 500)
    assert len(read_lines(tmp_path / "fits")) == 500
    (tmp_path / "large").write_bytes(b"a\n" * 501)
    (tmp_path / "large.gz").write_bytes(gzip.compress(b"a\n" * 501))
    for name in ("large", "large.gz"):
        with pytest.raises(ReplituneError, match="too large for the memory"):
            read_lines(tmp_path / name)
    with open(tmp_path / "sparse", "wb") as handle:
        handle.truncate(1 << 40)
    monkeypatch.undo()
    with pytest.raises(ReplituneError, match="too large for the memory"):
        read_lines(tmp_path / "sparse")
    with pytest.raises(ReplituneError, match="not a regular file"):
        read_lines("/dev/zero")


def test_an_endless_line_is_refused_and_a_very_long_one_is_scored(tmp_path: Path, replitune):
    words = "the cat sat on a mat " * (files.LONGEST_LINE // 21)
    assert len(words) <= files.LONGEST_LINE
    for name, text in (("ref", words), ("hyp", words.replace("mat", "hat")), ("x", words + "y" * 99)):
        (tmp_path / name).write_text(f"{text}\nshort line of words\n")
    with pytest.raises(ReplituneError, match="too long for a segment"):
        read_lines(tmp_path / "x")
    ran = replitune(
        "score",
        "--refs",
        tmp_path / "ref",
        "--hyps",
        f"a={tmp_path / 'hyp'}",
        "--metrics",
        "bleu:tokenize=none",
        "length",
        "--out",
        tmp_path / "stats",
    )
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "laughs.xml",
            "<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 10)),
        ),
        ("outside.xml", "<!ENTITY a9 SYSTEM 'file:///etc/passwd'>"),
        ("parameter.xml", "<!ENTITY % a SYSTEM 'http://127.0.0.1:9/x'> %a;"),
        ("laughs.sgm", "<!ENTITY a9 'ha'>"),
    ],
)
def test_entities_are_never_read(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_text(
        f"<!DOCTYPE dataset [{content}]>\n<dataset><doc id='d'><ref translator='A'>"
        "<seg id='1'>&a9;</seg></ref></doc></dataset>"
    )
    with pytest.raises(ReplituneError, match="document type"):
        read_testset(tmp_path / name)


@pytest.mark.parametrize("format", ["text", "blank-lines", "tsv", "jsonl", "xml", "sgm"])
@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"a\rb\r\nc", b"\x1f\x8b"],
)
def test_dirty_bytes_are_read_or_refused(tmp_path: Path, format: str, content: bytes):
    (tmp_path / "t").write_bytes(content)
    try:
        found = read_testset(tmp_path / "t", format=format)
    except ReplituneError:
        return
    expected = {b"\n": [""], b"\r": [""], b"a\rb\r\nc": ["a\rb", "c"]}
    assert found.references[0] == expected[content]


@pytest.mark.parametrize(
    "content",
    [
        b'{"weights": {"a": 1e999}}',
        b'{"weights": {"a": NaN}}',
        b'{"weights": {"a": %s}}' % (b"9" * 999),
        b'{"weights": {"a": [[1]]}}',
        b"[" * 99_999,
        b'{"weights": {"a": [%s]}}' % (b"9" * 9999),
    ],
)
def test_weights_are_finite_numbers(tmp_path: Path, content: bytes):
    (tmp_path / "w.json").write_bytes(content)
    (tmp_path / "w.ini").write_bytes(b"a= inf\n")
    for name in ("w.json", "w.ini"):
        with pytest.raises(ReplituneError):
            read_weights(tmp_path / name)


def test_a_name_that_is_no_text_is_printed_and_logged(tmp_path: Path, replitune):
    name = str(tmp_path / "x\udcff; $(id) '\n.txt")
    log = tmp_path / "log"
    ran = replitune("score", "--refs", name, "--hyps", f"a={name}", "--out", tmp_path / "s", "--log", log)
    assert ran.code == 2
    assert "no such file" in ran.err
    assert "\\udcff" in log.read_text("utf-8")
    Path(name).write_text("a b\n")
    ran = replitune(
        "score",
        "--refs",
        name,
        "--hyps",
        f"a={name}",
        "--out",
        tmp_path / "s",
        "--metrics",
        "length",
        "--log",
        log,
    )
    assert ran.code == 0, ran.err
    assert replitune("score", "--refs", "a\0b", "--hyps", "a=b", "--out", "c").code == 2


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.lists(st.integers(0, 3), max_size=2),
)
column = st.one_of(
    st.sampled_from(["a", "b", "", "../x"]).map(lambda name: [name] * 4),
    st.permutations([0, 1, 0, 1]),
    st.permutations([0.5, 1.0, float("nan"), 1e308]),
    st.lists(values, min_size=4, max_size=4),
)
metadata = st.one_of(
    st.none(),
    st.sampled_from([b"{", b"[]", b"[" * 50_000, b'{"metric": 1}', b"\xff"]),
    st.fixed_dictionaries(
        {
            "metric": st.sampled_from(["bleu", "mean", "x", "external:file=/etc/passwd", 3, "bleu:a"]),
            "id": st.sampled_from(["bleu", None, "../x"]),
            "signature": st.sampled_from(["s", []]),
            "direction": st.sampled_from([1, None, "no"]),
            "testset": st.sampled_from(["t", {}, "../x"]),
            "reference_sha256": st.just("0"),
            "decode_sha256": st.sampled_from([{}, [], {"a": 1}]),
        }
    ).map(lambda value: json.dumps(value).encode()),
)


@settings(deadline=None, derandomize=True, max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["system", "replica", "segment", "score", "group", "document", "count", "match_1"]
            ),
            column,
        ),
        max_size=8,
    ),
    metadata,
)
def test_parquet_of_any_columns_is_read_or_refused(tmp_path: Path, columns: list, raw: bytes | None):
    arrays, names = [], []
    for name, content in [
        ("system", ["a"] * 4),
        ("replica", [1, 1, 2, 2]),
        ("segment", [0, 1, 0, 1]),
        ("score", [1.0] * 4),
        *columns,
    ]:
        try:
            array = pa.array(content)
        except (pa.ArrowException, OverflowError):
            continue
        if name in names and len(columns) % 2:
            arrays[names.index(name)] = array
        else:
            arrays.append(array)
            names.append(name)
    table = pa.table(arrays, names=names)
    table = table.replace_schema_metadata({METADATA_KEY: raw} if raw is not None else None)
    path = tmp_path / "s.parquet"
    pq.write_table(table, path)
    TARGETS["parquet"](path.read_bytes(), tmp_path)


def test_a_parquet_file_that_is_cut_off_is_refused(tmp_path: Path):
    data = seeds.parquet()
    path = tmp_path / "s.parquet"
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        with pytest.raises(ReplituneError):
            read_stores(path)


def test_segments_are_text_in_every_page(tmp_path: Path, replitune):
    attack = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</td>${7*7}{{7*7}}]]>-->"
    (tmp_path / "ref").write_text(f"{attack}\nthe cat\n")
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{attack} {name}\nthe {name}\n")
    ran = replitune(
        "compare",
        "--refs",
        tmp_path / "ref",
        "--baseline",
        tmp_path / "a",
        "--system",
        f"b={tmp_path / 'b'}",
        "--samples",
        99,
        "--html",
        tmp_path / "x.html",
        "--rank",
        tmp_path / "rank",
        "--latex",
        tmp_path / "x.tex",
    )
    assert ran.code == 0, ran.err
    pages = [tmp_path / "x.html", *tmp_path.rglob("rank/*.html")]
    for page in pages:
        text = page.read_text("utf-8")
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "7*7" in text or page.name == "x.html"


def test_names_of_manifests_stay_inside():
    assert stays_inside("a/b..c/.d")
    for name in ("..", "a/../..", "/a", "", "a\0", "\ud800"):
        assert not stays_inside(name)


def test_an_experiment_of_hostile_but_legal_names_is_planned(tmp_path: Path):
    experiment = {
        "experiment": "x+y_.-",
        "corpus": {"kind": "files", "tests": {"T+.1": {"references": "r; $(id) {x} '\".txt"}}},
        "systems": {"A-": {"backend": "outputs", "files": {"T+.1": ["* ; `id`", "a\nb"]}}},
    }
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(experiment))
    settings = load(tmp_path / "x.yaml", corpora=str(tmp_path))
    (tmp_path / "1 ; `id`").write_text("")
    assert [path.name for path in Experiment(settings).outputs["A-"]["T+.1"].values()] == [
        "1 ; `id`",
        "a\nb",
    ]
