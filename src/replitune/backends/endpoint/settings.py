"""The settings of `backend: endpoint`. Imports little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from replitune.backends.settings import SystemSettings, Text
from replitune.settings import Settings, about


class BudgetSettings(Settings):
    """The most that a system may spend in this experiment. Until a request is answered, it counts for
    the most that it can cost. No request is sent that could exceed the budget."""

    requests: Annotated[int | None, about("Requests, including those that failed.", ge=1)] = None
    tokens: Annotated[int | None, about("Tokens of prompts and answers.", ge=1)] = None
    money: Annotated[float | None, about("In the currency of `prices`.", gt=0)] = None
    prices: Annotated[
        tuple[float, float], about("For a million tokens of prompts, and for a million of answers.")
    ] = (0.0, 0.0)

    def cost(self, tokens: Sequence[int]) -> float:
        return sum(n * price for n, price in zip(tokens, self.prices, strict=True)) / 1e6

    def exceeded(self, requests: int, tokens: Sequence[int]) -> str | None:
        """The limit that these numbers exceed, if any, in words."""
        for what, spent, most in (
            ("requests", requests, self.requests),
            ("tokens", sum(tokens), self.tokens),
            ("money", self.cost(tokens), self.money),
        ):
            if most is not None and spent > most:
                return f"{what}: {spent:,.6g} with the next request, of {most:,}"
        return None


class EndpointSettings(SystemSettings):
    """A language model behind a server with OpenAI's chat protocol (vLLM, llama.cpp, Ollama, hosted
    services). docs/backends.md has examples."""

    url: Annotated[str, about("Required. Where `/chat/completions` is: `http://localhost:8000/v1`.")] = ""
    model: Annotated[str, about("Required. The server's name of the model.")] = ""
    prompts: Annotated[
        tuple[Text, ...],
        about(
            "Required. What the user says to the model, with the places {source}, {source_language}, "
            "{target_language} and {examples}; `{{` is a brace. With `replicas: {prompt: n}`, run k "
            "uses prompt k."
        ),
    ] = ()
    instructions: Annotated[str, about("The system message, with the same places.")] = ""
    source_language: Annotated[str, about("Fills {source_language}.")] = ""
    target_language: Annotated[str, about("Fills {target_language}.")] = ""
    examples: Annotated[
        int, about("Pairs of dev that fill {examples}, drawn by the seed for each prompt.", ge=0)
    ] = 0
    example: Annotated[str, about("Each pair, with {source} and {target}.")] = "{source}\n{target}\n"
    sampling: Annotated[
        dict[str, Any], about("Passed on as it is: `{temperature: 0.7, top_p: 0.9, max_tokens: 500}`.")
    ] = msgspec.field(default_factory=dict)
    seed_as: Annotated[
        str | None,
        about("The server's name for the seed; null: it is not sent, and only tells samples apart."),
    ] = "seed"
    key: Annotated[str | None, about("The environment variable with the key; it is read nowhere else.")] = (
        None
    )
    concurrency: Annotated[int, about("Requests of a job at the same time.", ge=1, le=256)] = 8
    per_minute: Annotated[float | None, about("Most requests a minute, of all jobs.", gt=0)] = None
    timeout: Annotated[float, about("Seconds that a whole answer may take.", gt=0)] = 300.0
    retries: Annotated[int, about("How often a request that fails is sent again.", ge=0)] = 8
    budget: Annotated[BudgetSettings, about("When to stop.")] = BudgetSettings()
    match: Annotated[
        str | None,
        about(
            "A regular expression: its first group, or all that matches, is the translation. An answer "
            "that does not match stays as it is, and is counted."
        ),
    ] = None
    first_line: Annotated[bool, about("Only the first line that is not blank.")] = False
    quotes: Annotated[bool, about("Remove one pair of quotes around the whole.")] = False
