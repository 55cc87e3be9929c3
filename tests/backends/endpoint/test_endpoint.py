"""Experiments with a language model behind a server of the tests' own."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tarfile
import time
import urllib.parse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from replitune.backends.endpoint import client
from replitune.backends.endpoint.answers import Journal
from replitune.backends.endpoint.backend import prompt_of
from replitune.backends.endpoint.redaction import Redaction
from replitune.backends.endpoint.settings import BudgetSettings
from replitune.backends.interface import DecodeJob, ReplicaJob
from replitune.backends.registry import get_backend
from replitune.corpus.testset import TestSet
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.ledger.archiving import write_archive
from replitune.replicas import Replica
from replitune.results.result import Result
from support import changed, run_in_process

from .chat_server import FAULTS, Server

KEY = "sk-9f8e7d6c/5b4a+3210fedc"


def forms(key: str) -> dict[str, str]:
    """The key as text of JSON, in every form."""
    slashed = key.replace("/", "\\/")
    coded = "".join(f"\\u{ord(character):04X}" for character in key)
    packed = {
        f"base64 {n}": base64.b64encode(b"Bearer "[:n] + key.encode() + b"!?").decode() for n in range(3)
    }
    return {
        "as it is": key,
        "slashes": slashed,
        "half": key[:9] + "".join(f"\\u{ord(c):04x}" for c in key[9:]),
        "codes": coded,
        "JSON in JSON": json.dumps(json.dumps(slashed)[1:-1])[1:-1],
        "codes in JSON": json.dumps(coded)[1:-1],
        "codes of codes": coded.replace("\\", "\\u005c"),
        "octal": json.dumps("".join(f"\\{ord(c):03o}" for c in key))[1:-1],
        "hexadecimal escapes": json.dumps("".join(f"\\x{ord(c):02x}" for c in key))[1:-1],
        "URL": urllib.parse.quote(key, safe=""),
        "URL twice": urllib.parse.quote(urllib.parse.quote(key, safe=""), safe=""),
        "all of a URL": "".join(f"%{byte:02x}" for byte in key.encode()),
        "HTML": "".join(f"&#{ord(c)};" for c in key),
        "digits": key.encode().hex(),
        **packed,
        **{f"{name} for URLs": urllib.parse.quote(text, safe="") for name, text in packed.items()},
        **{f"{name} for names": text.translate(str.maketrans("+/", "-_")) for name, text in packed.items()},
        **{f"{name} in lines": text[:11] + "\\n" + text[11:] for name, text in packed.items()},
    }


FORMS = forms(KEY)


def repeated(data: str) -> list[str]:
    """The forms of the key that are in a text, as they are or in a string of JSON."""
    found = []
    for name, form in FORMS.items():
        decoded = json.loads(f'"{form}"')
        written = {form, decoded, json.dumps(decoded)[1:-1], json.dumps(decoded, ensure_ascii=False)[1:-1]}
        found += [name for one in sorted(written) if one in data]
    return found


SOURCE = [f"ein Satz {n} mit Wörtern" for n in range(12)]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PAUSE", 0.001)
    monkeypatch.setenv("ENDPOINT_TEST_KEY", KEY)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running


def settings(url: str, **more: Any) -> dict[str, Any]:
    return {
        "backend": "endpoint",
        "url": url,
        "model": "m",
        "prompts": ["Translate {{it}} from {source_language} to English: {source}"],
        "source_language": "German",
        "sampling": {"temperature": 0.5, "max_tokens": 50},
        "key": "ENDPOINT_TEST_KEY",
        "quotes": True,
        "first_line": True,
        "timeout": 5,
        **more,
    }


def ask(
    folder: Path, url: str, source: list[str] = SOURCE, replica: str = "sample-001", **more: Any
) -> Path:
    """The answers of one replica."""
    out = folder / f"{replica}.jsonl"
    given = {k: v for k, v in settings(url, **more).items() if k not in ("backend", "quotes", "first_line")}
    dev = TestSet(
        references=([f"example {n}" for n in range(9)],), source=[f"Beispiel {n}" for n in range(9)]
    )
    job = ReplicaJob(seed=3, out=out, replica=Replica(replica), common=folder / "kept", dev=dev)
    get_backend("s", given, "endpoint").ask(job, "t", source)
    return out


# ---- what is asked, and what becomes of it


def test_a_request_has_prompt_model_sampling_and_a_seed_of_its_own(tmp_path: Path, server: Server):
    ask(tmp_path, server.url, instructions="You know {source_language}.")
    bodies = [json.loads(body) for body in server.asked]
    assert {body["model"] for body in bodies} == {"m"}
    assert {body["temperature"] for body in bodies} == {0.5}
    assert len({body["seed"] for body in bodies}) == len(SOURCE)
    said = {body["messages"][1]["content"] for body in bodies}
    assert said == {f"Translate {{it}} from German to English: {line}" for line in SOURCE}
    assert {body["messages"][0]["content"] for body in bodies} == {"You know German."}
    assert {one["Authorization"] for one in server.headers} == {f"Bearer {KEY}"}


def test_replicas_have_other_seeds_and_those_of_one_prompt_the_same_examples(
    tmp_path: Path, server: Server
):
    prompts = ["{examples}\n{source}", "Now: {examples}\n{source}"]
    shown, seeds = {}, {}
    for replica in ("prompt-001", "prompt-002", "prompt001-001", "prompt002-001", "prompt002-002"):
        server.asked.clear()
        ask(tmp_path, server.url, SOURCE[:2], replica, prompts=prompts, examples=3, seed_as="random_seed")
        bodies = [json.loads(body) for body in server.asked]
        seeds[replica] = {body["random_seed"] for body in bodies}
        (shown[replica],) = {
            tuple(re.findall(r"(Beispiel \d)\n(example \d)\n", body["messages"][0]["content"]))
            for body in bodies
        }
        assert all(pair[0][-1] == pair[1][-1] for pair in shown[replica])
        assert len({*shown[replica]}) == 3
    assert shown["prompt-002"] == shown["prompt002-001"] == shown["prompt002-002"] != shown["prompt-001"]
    assert len(set.union(*seeds.values())) == 2 * len(seeds)
    assert [prompt_of(Replica(r)) for r in ("sample-007", "prompt-003", "prompt004-002")] == [1, 3, 4]


def test_samples_differ_for_a_server_that_takes_no_seed(tmp_path: Path, server: Server):
    for replica in ("sample-001", "sample-002"):
        ask(tmp_path, server.url, SOURCE[:3], replica, seed_as=None)
    assert [*server.asked.values()] == [2, 2, 2]


@pytest.mark.parametrize(
    ("answer", "chosen", "line"),
    [
        ('"Ein  Wort"\nmore', {}, '"Ein Wort" more'),
        ('\n "Ein Wort"\r\nmore', {"first_line": True, "quotes": True}, "Ein Wort"),
        ("„so“", {"quotes": True}, "so"),
        ('"a" and "b', {"quotes": True}, '"a" and "b'),
        ("<think>x\ny</think>\nT: z", {"match": r"(?s)</think>\s*T: (.*)"}, "z"),
        ("no such thing", {"match": "T: .*"}, "no such thing"),
        ("a\u2028b\u0085c", {}, "a b c"),
        ("", {"first_line": True}, ""),
    ],
)
def test_post_processing_is_what_settings_say(
    tmp_path: Path, answer: str, chosen: dict[str, Any], line: str
):
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"request": "x", "text": answer}) + "\n")
    job = DecodeJob(seed=1, replica=Replica("sample-001"), name="t", answers=file)
    assert get_backend("s", chosen, "endpoint").decode(job) == [line]


def test_what_is_not_a_whole_translation_is_counted_and_left(tmp_path: Path, server: Server):
    source = ["eins", "empty", "refused", "long", "refused too", "zwei"]
    out = ask(tmp_path, server.url, source)
    system = get_backend("s", {"quotes": True, "first_line": True, "match": "eins|zwei|empty"}, "endpoint")
    lines = system.decode(DecodeJob(seed=1, replica=Replica("sample-001"), name="t", answers=out))
    assert [bool(line) for line in lines] == [True, False, False, True, False, True]
    server.fingerprint = "fp_2"
    again = ask(tmp_path, server.url, source[:1], "sample-002")
    remarks = system.remarks({"sample-001 on t": out, "sample-002 on t": again})
    assert remarks == [
        "s sample-001 on t: 2 refused, 1 cut off, 3 empty, 4 not as `match` wants",
        "s: the model behind the endpoint changed: m-2026 fp_1 (6 answers); m-2026 fp_2 (1 answers)",
    ]
    assert system.remarks({"sample-002 on t": again}) == []


# ---- faults


def test_faults_change_no_byte_and_nothing_is_asked_twice(tmp_path: Path):
    with Server().running() as calm:
        expected = ask(tmp_path / "calm", calm.url).read_bytes()
    with Server([*FAULTS, *FAULTS[::-1]]).running() as server:
        out = ask(tmp_path / "faults", server.url, timeout=0.4, concurrency=3, retries=50)
        assert out.read_bytes() == expected
        assert {*server.answered.values()} == {1}
        assert sum(server.asked.values()) == len(SOURCE) + 2 * len(FAULTS)
        out.unlink()
        before = sum(server.asked.values())
        assert ask(tmp_path / "faults", server.url).read_bytes() == expected
        assert sum(server.asked.values()) == before


def test_without_the_server_what_was_answered_is_there(tmp_path: Path):
    with Server().running() as server:
        first = ask(tmp_path, server.url).read_bytes()
    assert ask(tmp_path, "http://127.0.0.1:9/v1").read_bytes() == first
    with pytest.raises(ReplituneError, match="did not answer"):
        ask(tmp_path, "http://127.0.0.1:9/v1", ["something new"], retries=1)


def test_a_pause_that_the_server_asks_for_holds_for_every_thread(tmp_path: Path):
    with Server(["429 1"]).running() as server:
        ask(tmp_path, server.url, concurrency=1)
        first, second, *_ = server.times
        assert second - first >= 1


@pytest.mark.parametrize("status", ["401", "404", "302", "400"])
def test_what_cannot_get_better_ends_the_job_and_shows_no_key(tmp_path: Path, status: str):
    with Server([status] * 50).running() as server:
        with pytest.raises(ReplituneError) as error:
            ask(tmp_path, server.url, concurrency=1)
        assert sum(server.asked.values()) == 1
    assert f"status {status}" in str(error.value.found)
    assert "Bearer ***" in str(error.value.found)
    assert KEY not in str(error.value)


@pytest.mark.parametrize("form", FORMS)
def test_the_key_is_shown_in_no_form(tmp_path: Path, form: str, capfd: pytest.CaptureFixture[str]):
    """In answers, the journal, errors, and what a job prints; in two reads."""
    with Server(["500", "status line", "429"]).running() as server:
        server.said = [f"a {FORMS[form]} b"]
        assert repeated(server.said[0])
        answers = ask(tmp_path, server.url, SOURCE[:4]).read_text("utf-8")
        for status in ("401", "500", "status line"):
            server.faults = [status] * 9
            with pytest.raises(ReplituneError) as error:
                ask(tmp_path, server.url, ["new"], retries=1, concurrency=1)
            assert "***" in str(error.value.found)
            assert not repeated(str(error.value)), str(error.value)
    assert answers.count("***") >= 8
    journal = (tmp_path / "kept" / "answers.jsonl").read_text("utf-8")
    assert not repeated(answers) + repeated(journal) + repeated(capfd.readouterr().err)


def test_other_text_is_left_as_it_is():
    redacted = Redaction(KEY)
    text = r"100% \n %41 &amp; \u0041 YWJj sk-9f8e7d6c/5b4a+3210fed " * 50
    assert redacted(text) == text
    assert redacted(f"({KEY})") == "(***)"
    assert Redaction(None)(KEY) == KEY


@pytest.mark.parametrize(
    "given",
    [
        "86400",
        "1e300",
        "inf",
        "nan",
        "-5",
        "soon",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Fri, 31 Dec 99999999999 1:0:0",
    ],
)
def test_a_pause_of_any_kind_crashes_nothing_and_a_long_one_is_told(tmp_path: Path, given: str):
    with Server(["429"]).running() as server:
        server.retry_after = given
        ask(tmp_path, server.url)
        server.faults = ["429"] * 50
        with pytest.raises(ReplituneError, match="did not answer") as error:
            ask(tmp_path, server.url, ["new"], retries=1)
    told = {
        "86400": "a pause of 24 hours",
        "1e300": "a pause of",
        "Fri, 31 Dec 9999 23:59:59 GMT": "a pause of",
    }
    assert told.get(given, "status 429") in str(error.value.found)
    assert ("a pause" in str(error.value.found)) == (given in told)
    assert "url" not in str(error.value.fix)


def test_a_rate_is_kept_by_two_jobs_at_once(tmp_path: Path):
    now = time.time()
    first = Journal(tmp_path / "j", [])
    second = Journal(tmp_path / "j", [])
    slots = [
        journal.reserve(str(n), (1, 1), BudgetSettings(), 600.0)
        for n in range(4)
        for journal in (first, second)
    ]
    steps = [b - a for a, b in pairwise(slots)]  # type: ignore[operator]
    assert steps == pytest.approx([0.1] * 7, abs=1e-6)
    assert slots[0] <= now + 0.2  # type: ignore[operator]


# ---- killed


KILLING = """
import os, random, signal, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from backends.endpoint.test_endpoint import SOURCE, ask
folder, url = Path(sys.argv[1]), sys.argv[2]
journal, moments = folder / "kept" / "answers.jsonl", random.Random(5)
folder.mkdir()
for _ in range(20):
    size = journal.stat().st_size if journal.exists() else 0
    child = os.fork()
    if child == 0:
        try:
            ask(folder, url, SOURCE * 10, concurrency=2)
        finally:
            os._exit(1)
    enough = size + moments.randrange(1, 1200)
    while not journal.exists() or journal.stat().st_size < enough:
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
"""


def test_a_job_that_is_killed_at_twenty_moments_asks_only_for_the_rest(tmp_path: Path):
    source = SOURCE * 10
    with Server().running() as calm:
        expected = ask(tmp_path / "calm", calm.url, source).read_bytes()
    folder = tmp_path / "killed"
    with Server().running() as server:
        code = KILLING.format(tests=str(Path(__file__).parents[2]))
        subprocess.run([sys.executable, "-c", code, str(folder), server.url], check=True, timeout=60)
        assert not [*folder.glob("*.jsonl")]
        journal = folder / "kept" / "answers.jsonl"
        assert ask(folder, server.url, source).read_bytes() == expected
        again = sum(server.asked.values()) - len(source)
        assert again <= 20 * 2  # requests that were under way
    kept = re.findall(r'"answer":{"request":"(\w+)"', journal.read_text("utf-8"))
    assert len(kept) == len({*kept}) == len(source)


def test_damaged_lines_are_told_and_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with Server().running() as server:
        expected = ask(tmp_path, server.url).read_bytes()
        journal = tmp_path / "kept" / "answers.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        answers = [n for n, line in enumerate(lines) if b'"answer"' in line]
        lines[answers[3]] = lines[answers[3]].replace(b"Satz", b"Sutz")
        cut = (
            b"".join(lines)[: -len(lines[-1]) // 2 - 1]
            if answers[-1] == len(lines) - 1
            else b"".join(lines)
        )
        journal.write_bytes(cut)
        assert ask(tmp_path, server.url).read_bytes() == expected
    assert "2 damaged lines" in capsys.readouterr().err
    assert sum(server.asked.values()) == len(SOURCE) + 2


# ---- the budget


def test_a_budget_of_requests_stops_at_the_request_and_goes_on_when_it_is_raised(tmp_path: Path):
    with Server(["500", "cut"]).running() as server:
        for most in (5, 9):
            with pytest.raises(ReplituneError, match="budget is used up"):
                ask(tmp_path, server.url, budget={"requests": most})
            assert sum(server.asked.values()) == most
        ask(tmp_path, server.url)
        assert {*server.answered.values()} == {1}


@pytest.mark.parametrize("faults", [[], ["cut", "500", "garbage"]])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_budget_of_tokens_or_money_is_never_exceeded(tmp_path: Path, faults: list[str], concurrency: int):
    """By the server's own count: it bills what it answers, also where the answer does not arrive."""
    prices = [2.0, 10.0]
    for number, budget in enumerate(({"tokens": 2500}, {"money": 0.008, "prices": prices})):
        with Server(faults).running() as server:
            with pytest.raises(ReplituneError, match="budget is used up"):
                ask(tmp_path / str(number), server.url, SOURCE * 20, budget=budget, concurrency=concurrency)
            billed = [usage for usage, status in server.billed if status != 500]
        spent = [sum(one[key] for one in billed) for key in ("prompt_tokens", "completion_tokens")]
        assert len(billed) > 2
        if "tokens" in budget:
            assert sum(spent) <= 2500
        else:
            assert spent[0] * prices[0] / 1e6 + spent[1] * prices[1] / 1e6 <= 0.008


def test_what_no_server_saw_is_not_spent(tmp_path: Path):
    """Connections that are refused leave the whole budget."""
    with Server().running() as server:
        url = server.url
    budget = {"requests": 12, "tokens": 12 * (1 + 300)}
    for _ in range(3):
        with pytest.raises(ReplituneError, match="did not answer"):
            ask(tmp_path, url, retries=4, budget=budget)
    journal = Journal(tmp_path / "kept" / "answers.jsonl", [])
    assert (journal.requests, journal.tokens) == (0, (0, 0))
    with Server().running() as server:
        ask(tmp_path, server.url, budget={"requests": 12})
        assert sum(server.asked.values()) == 12


def test_usage_below_zero_is_no_answer(tmp_path: Path):
    """It would make the budget endless."""
    with Server().running() as server:
        server.tokens = -(10**6)
        with pytest.raises(ReplituneError, match="did not answer") as error:
            ask(tmp_path, server.url, retries=1, budget={"tokens": 10**5})
        assert "completion_tokens" in str(error.value.found)
    journal = Journal(tmp_path / "kept" / "answers.jsonl", [])
    assert min(journal.tokens) > 0
    assert not journal.answers


# ---- experiments


def experiment(url: str, **changes: Any) -> dict[str, Any]:
    base = {
        "experiment": "asked",
        "corpus": {"kind": "synthetic", "train": 10, "dev": 4, "tests": {"t": 6}},
        "systems": {"a": settings(url), "b": settings(url, model="n")},
        "replicas": {"sample": 3},
        "metrics": ["chrf"],
        "tests": {"samples": 50, "methods": ["crossed"], "intervals": []},
    }
    return changed(base, **changes)


def run(given: dict[str, Any]) -> Experiment:
    return run_in_process(Experiment(resolve(given)))


def bytes_of(folder: Path) -> dict[str, bytes]:
    names = ("answers", "decodes", "stats", "tests", "tables")
    files = [file for name in names for file in sorted((folder / name).rglob("*")) if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_an_experiment_has_the_same_bytes_with_faults_and_its_key_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Server().running() as server:
        monkeypatch.chdir(tmp_path)
        calm = run(experiment(server.url))
        assert calm.design == "samples"
        assert sum(server.asked.values()) == 2 * 3 * (6 + 4)
        server.faults = ["429", "500", "cut", "garbage"]
        write_archive(calm.folder, tmp_path / "archive.tar.gz")
        expected = bytes_of(calm.folder)
        assert len(expected) > 20
        calm.folder.rename(tmp_path / "calm")
        assert bytes_of(run(experiment(server.url)).folder) == expected
    every = [file for file in tmp_path.rglob("*") if file.is_file()]
    with tarfile.open(tmp_path / "archive.tar.gz") as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    assert [*(tmp_path / "unpacked").rglob("answers/t/a/sample-003.jsonl")]
    every += [file for file in (tmp_path / "unpacked").rglob("*") if file.is_file()]
    assert not [file for file in every if KEY.encode() in file.read_bytes()]


def test_what_an_experiment_leaves_has_the_key_in_no_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    with Server(["500", "429", "status line"] * 2).running() as server:
        server.said = [f"a {form} b" for form in FORMS.values()]
        done = run(experiment(server.url))
    write_archive(done.folder, tmp_path / "archive.tar.gz")
    with tarfile.open(tmp_path / "archive.tar.gz") as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    files = {file for file in tmp_path.rglob("*") if file.is_file()}
    assert {"answers.jsonl", "report.html", "manifest.json"} <= {file.name for file in files}
    shown = [file.read_bytes().decode("utf-8", "replace") for file in sorted(files)]
    assert not [found for text in [*shown, *capfd.readouterr()] for found in repeated(text)]


def test_prompts_are_runs_and_samples_of_prompts_are_nested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    prompts = ["Translate: {source}", "In English: {source}", "Say {source}"]
    with Server().running() as server:
        given = experiment(server.url, replicas={"prompt": 3, "sample": 2}, corpus__tests__t=80)
        for system in given["systems"].values():
            system["prompts"] = prompts
        nested = run(given)
        assert nested.design == "nested"
        assert nested.replica_counts("a") == {"prompt001": 2, "prompt002": 2, "prompt003": 2}
        (test,) = Result.read(nested.folder / "tests" / "t", "chrf").tests
        assert (test.n_a, test.scope, test.run_kind) == (3, "both", "prompt")
        runs = Experiment(resolve(changed(given, replicas={"prompt": 3})))
        assert (runs.design, runs.replica_counts("a")) == ("runs", {"prompt": 3})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"systems__a__prompts": ["no place"]}, "a prompt without {source}"),
        ({"systems__a__prompts": ["{sourec} {source}"]}, "unknown place {sourec}"),
        ({"systems__a__prompts": ["{source}", "{examples} {source}"]}, "number of examples"),
        ({"systems__a__prompts": ["{source}", "x {source}"]}, "number of prompts"),
        ({"replicas": {"prompt": 2}}, "number of prompts"),
        ({"replicas": {"seeds": 2}}, "runs of other kinds"),
        ({"systems__a__url": "http://me:secret@host/v1"}, "`url` is not the address of a server"),
        ({"systems__a__url": ""}, "key `url` is missing"),
        ({"systems__a__key": KEY}, "not the name of an environment variable"),
        ({"systems__a__key": KEY.replace("-", "_")}, "not the name of an environment variable"),
        (
            {"systems__a__sampling": {"n": 2, "temperature": 1}, "systems__a__budget": {"tokens": 5}},
            "keys that other settings set",
        ),
        ({"systems__a__sampling": {}, "systems__a__budget": {"tokens": 5}}, "longest answer"),
        ({"systems__a__budget": {"money": 5.0}}, "without prices"),
        ({"systems__a__match": "("}, "not a regular expression"),
        ({"replicas": {"prompt": 9, "sample": 9, "until": "settled"}}, "design: nested"),
    ],
)
def test_a_mistake_is_named_and_the_key_is_not_repeated(change: dict[str, Any], words: str):
    with pytest.raises(ReplituneError) as error:
        resolve(experiment("http://localhost/v1", **change))
    assert words in str(error.value)
    assert KEY[3:] not in str(error.value)


def test_samples_that_looks_may_add_to_are_runs():
    given = experiment("http://localhost/v1", replicas={"sample": 8, "until": "settled"})
    looks = Experiment(resolve(given))
    assert looks.design == "runs"
    assert looks.plan.sizes["a"] == [3, 5, 8]
    assert looks.plan.together is True
    samples = changed(given, replicas={"sample": 8, "design": "runs"})
    assert Experiment(resolve(samples)).design == "runs"
