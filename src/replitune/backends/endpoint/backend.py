"""`backend: endpoint`: translations by a language model behind an OpenAI-compatible server.

The stage `ask` keeps the server's answers; the stage `decode` makes lines of text from them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from replitune.backends.endpoint.settings import EndpointSettings
from replitune.backends.interface import Backend, Complain, DecodeJob, ReplicaJob, needed, source_of
from replitune.errors import ReplituneError
from replitune.replicas import Replica

PLACE = re.compile(r"\{\{|\}\}|\{(\w*)\}")
PLACES = ("source", "source_language", "target_language", "examples")
OURS = ("model", "messages", "n", "stream")
"""Fields of a request that `sampling` may not set."""
LENGTHS = ("max_tokens", "max_completion_tokens")
OVERHEAD = 256
"""Tokens that a server may add around a prompt. Each byte of the prompt counts as one token at most."""
SHORTEST_KEY = 8
"""In characters. The key is removed from answers wherever it occurs, so it must not be a common word."""
LINES = ("match", "first_line", "quotes")
QUOTES = ('""', "''", "“”", "‘’", "„“", "«»", "「」")


class Endpoint(Backend):
    """One model with its prompts."""

    name = "endpoint"
    Settings = EndpointSettings
    settings: EndpointSettings

    @property
    def prefixes(self) -> tuple[str, ...]:
        return ("sample", "prompt")

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {"ask": ("source", "dev") if self.settings.examples else ("source",), "decode": ("answers",)}

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        settings = super().stage_settings(stage)
        return {name: value for name, value in settings.items() if (name in LINES) == (stage == "decode")}

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        here, given = ("systems", self.system), self.settings
        for name in ("url", "model", "prompts"):
            if not getattr(given, name):
                complain(here, f"key `{name}` is missing in {'.'.join(here)}")
        parts = urlsplit(given.url)
        if given.url and (parts.scheme not in ("http", "https") or "@" in parts.netloc or parts.query):
            expected = "http:// or https://, without user, password or query: the key is set by `key`"
            complain((*here, "url"), "`url` is not the address of a server", expected=expected)
        if given.key is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", given.key):
            # the value may be a key, so it is not shown
            complain(
                (*here, "key"),
                "`key` is not the name of an environment variable",
                expected="such as OPENAI_API_KEY",
            )
        every: list[tuple[tuple[str | int, ...], str, Sequence[str]]] = [
            *((("prompts", n), text, PLACES) for n, text in enumerate(given.prompts)),
            (("instructions",), given.instructions, PLACES),
            (("example",), given.example, ("source", "target")),
        ]
        for place, text, names in every:
            used = places_in(text)
            for name in used - {*names}:
                complain((*here, *place), f"unknown place {{{name}}}", expected=", ".join(names))
            if place[0] == "prompts" and "source" not in used:
                complain((*here, *place), "a prompt without {source}")
            if "examples" in used and not given.examples:
                complain((*here, "examples"), "the number of examples is not given", fix="examples: 5")
        if wrong := ", ".join(sorted({*given.sampling} & {*OURS, str(given.seed_as)})):
            complain((*here, "sampling"), "`sampling` has keys that other settings set", found=wrong)
        runs, prompts = experiment["replicas"].get("prompt"), len(given.prompts)
        if prompts and (prompts > 1 if runs is None else prompts < runs):
            complain(
                (*here, "prompts"),
                "the number of prompts does not match `replicas`",
                found=str(prompts),
                expected="one prompt for `sample: n`; n prompts or more for `prompt: n`",
            )
        budget = given.budget
        if (budget.tokens or budget.money) and not self.longest:
            complain(
                (*here, "sampling"),
                "a budget of tokens or money needs the length of the longest answer",
                fix="give `max_tokens` under `sampling`",
            )
        if budget.money and not any(budget.prices):
            complain((*here, "budget"), "a budget of money without prices", fix="give `prices`")
        if given.match is not None:
            try:
                re.compile(given.match)
            except re.error as error:
                complain((*here, "match"), "`match` is not a regular expression", found=str(error))

    @property
    def longest(self) -> int:
        """The most tokens that an answer may have; 0 if that is not known."""
        given = (self.settings.sampling.get(name) for name in LENGTHS)
        return max((n for n in given if isinstance(n, int)), default=0)

    def _key(self) -> str | None:
        name = self.settings.key
        if name is None:
            return None
        value = os.environ.get(name, "")
        if len(value) < SHORTEST_KEY or not re.fullmatch(r"[!#-\[\]-~]+", value):
            raise ReplituneError(
                f"environment variable {name} holds no usable key for system {self.system}",
                expected=f"{SHORTEST_KEY} characters or more, without blanks, quotes and backslashes",
                fix=f"export {name}=..., or leave `key` out if the server needs none",
            )
        return value

    # ---- work

    def ask(self, job: ReplicaJob, testset: str, source: Sequence[str]) -> None:
        from replitune.backends.endpoint.answers import Journal
        from replitune.backends.endpoint.client import Asking
        from replitune.running.files import atomic_open

        requests = list(self._requests(job, testset, source))
        journal = Journal(needed(job.common, "work") / "answers.jsonl", [one.key for one in requests])
        known = sum(one.key in journal.answers for one in requests)
        try:
            if known < len(requests):
                Asking(self.settings, self._key(), journal, requests).run()
        finally:
            journal.close()
        print(f"{testset}: {len(requests)} answers, {known} of them known before", flush=True)
        with atomic_open(job.out, "wb") as handle:
            for one in requests:
                handle.write(msgspec.json.encode(journal.answers[one.key]) + b"\n")

    def _requests(self, job: ReplicaJob, testset: str, source: Sequence[str]) -> Iterator[Any]:
        """One request for each segment, each with its own seed."""
        from replitune.backends.endpoint.client import Request
        from replitune.streams import stream

        given, replica = self.settings, job.replica
        named = () if job.paired else (self.system,)
        seeds = stream(job.seed, "endpoint", *named, replica.id, testset).integers(
            1, 2**31, size=len(source)
        )
        number = prompt_of(replica)
        fixed = {
            "source_language": given.source_language,
            "target_language": given.target_language,
            "examples": self._examples(job, stream(job.seed, "endpoint", *named, "examples", number)),
        }
        for text, seed in zip(source, seeds.tolist(), strict=True):
            places = {**fixed, "source": text}
            messages = [{"role": "user", "content": filled(given.prompts[number - 1], places)}]
            if given.instructions:
                messages.insert(0, {"role": "system", "content": filled(given.instructions, places)})
            asked = {**given.sampling, "model": given.model, "messages": messages}
            if given.seed_as is not None:
                asked[given.seed_as] = seed
            body = json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()
            most = sum(len(one["content"].encode()) for one in messages) + OVERHEAD, self.longest
            yield Request(hashlib.sha256(b"%d\n%s" % (seed, body)).hexdigest(), body, most)

    def _examples(self, job: ReplicaJob, rng: Any) -> str:
        if not self.settings.examples:
            return ""
        dev = needed(job.dev, "dev")
        source, reference = source_of(dev), dev.references[0]
        chosen = rng.permutation(len(source))[: self.settings.examples].tolist()
        return "\n".join(
            filled(self.settings.example, {"source": source[i], "target": reference[i]}) for i in chosen
        )

    def decode(self, job: DecodeJob) -> list[str]:
        if job.answers is None:
            raise ReplituneError("only the workflow can ask a server", fix="replitune run")
        return [self._line(one.text) for one in read_answers(job.answers)]

    def _line(self, text: str) -> str:
        """The translation in an answer, as one line."""
        if self.settings.match is not None and (match := re.search(self.settings.match, text)):
            text = (match[1] if match.re.groups else match[0]) or ""
        lines = [line for line in text.splitlines() if line.strip()]
        text = " ".join(" ".join(lines[:1] if self.settings.first_line else lines).split())
        if self.settings.quotes and len(text) > 1 and text[0] + text[-1] in QUOTES:
            text = text[1:-1].strip()
        return text

    def remarks(self, answers: Mapping[str, Path]) -> list[str]:
        """What a reader must know about files of answers, which are given by name."""
        remarks, models = [], Counter[str]()
        for name, path in answers.items():
            kinds = Counter[str]()
            for one in read_answers(path):
                kinds["refused"] += bool(one.refusal)
                kinds["cut off"] += one.finish == "length"
                kinds["empty"] += not self._line(one.text)
                if self.settings.match is not None:
                    kinds["not as `match` wants"] += re.search(self.settings.match, one.text) is None
                models[" ".join(filter(None, (one.model, one.fingerprint)))] += 1
            if counted := ", ".join(f"{n} {kind}" for kind, n in kinds.items() if n):
                remarks.append(f"{self.system} {name}: {counted}")
        if len(models) > 1:
            counted = "; ".join(
                f"{model or 'unnamed'} ({n} answers)" for model, n in sorted(models.items())
            )
            remarks.append(f"{self.system}: the model behind the endpoint changed: {counted}")
        return remarks


def prompt_of(replica: Replica) -> int:
    """The number of the prompt that a replica uses: 2 for ``prompt-002`` and ``prompt002-001``."""
    if replica.prefix == "prompt":
        return replica.index
    return int(replica.prefix.removeprefix("prompt")) if replica.prefix != "sample" else 1


def read_answers(path: Path) -> list[Any]:
    from replitune.backends.endpoint.answers import Answer
    from replitune.running.files import read_lines

    try:
        return [msgspec.json.decode(line, type=Answer) for line in read_lines(path)]
    except msgspec.DecodeError as error:
        raise ReplituneError("is not a file of a server's answers", file=path, found=str(error)) from None


def places_in(text: str) -> set[str]:
    return {match[1] for match in PLACE.finditer(text) if match[1] is not None}


def filled(text: str, places: Mapping[str, str]) -> str:
    """A template with its places filled in; the values themselves are not searched for places."""
    return PLACE.sub(lambda m: m[0][0] if m[1] is None else places[m[1]], text)
