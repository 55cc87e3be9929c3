"""Fine-tune a sequence-to-sequence model of `transformers` with a seed; called by experiment.yaml.

    python scripts/train_transformers.py MODEL --source S --target T --seed N --work DIR --output DIR

On a processor, the same seed, versions and number of threads give the same bytes, even after a kill:
the whole state (weights, optimiser, random numbers) is saved in the DIR of --work after every --every
steps. On a graphics card this holds only for the same card, driver and versions, and not for every
model: an operation that has no deterministic version only causes a warning.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", help="name or folder of a pretrained model")
    for name in ("source", "target", "work", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name, usual in (
        ("seed", 1),
        ("threads", 1),
        ("steps", 2000),
        ("every", 200),
        ("batch", 16),
        ("length", 128),
    ):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--rate", type=float, default=2e-5)
    given = parser.parse_args()

    torch.set_num_threads(given.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.use_deterministic_algorithms(True, warn_only=device == "cuda")
    torch.manual_seed(given.seed)
    tokenizer = AutoTokenizer.from_pretrained(given.model)
    model = AutoModelForSeq2SeqLM.from_pretrained(given.model).to(device).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=given.rate)
    sides = [path.read_text("utf-8").split("\n")[:-1] for path in (given.source, given.target)]

    state, step = given.work / "state.pt", 0
    if state.exists():
        saved = torch.load(state, map_location="cpu", weights_only=True)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        torch.set_rng_state(saved["random"])
        if device == "cuda":
            torch.cuda.set_rng_state(saved["cuda"])
        step = saved["step"]
        print(f"goes on after step {step}", flush=True)

    while step < given.steps:
        chosen = rows(step, len(sides[0]), given.batch, given.seed)
        texts, labels = ([side[i] for i in chosen] for side in sides)
        batch = tokenizer(
            texts,
            text_target=labels,
            padding=True,
            truncation=True,
            max_length=given.length,
            return_tensors="pt",
        ).to(device)
        batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
        loss = model(**batch).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        step += 1
        if step % given.every == 0 and step < given.steps:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
            half = state.with_suffix(".half")
            torch.save(
                {
                    "model": model.state_dict(),
                    "optimiser": optimiser.state_dict(),
                    "random": torch.get_rng_state(),
                    "cuda": torch.cuda.get_rng_state() if device == "cuda" else None,
                    "step": step,
                },
                half,
            )
            os.replace(half, state)
    model.save_pretrained(given.output)
    tokenizer.save_pretrained(given.output)


def rows(step: int, pairs: int, size: int, seed: int) -> list[int]:
    """The pairs of a step. Every epoch has its own order, which depends only on the seed."""
    per_epoch = max(1, pairs // size)
    order = torch.Generator().manual_seed(seed * 1_000_003 + step // per_epoch)
    first = step % per_epoch * size
    return torch.randperm(pairs, generator=order)[first : first + size].tolist()


if __name__ == "__main__":
    main()
