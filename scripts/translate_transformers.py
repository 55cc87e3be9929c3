"""Translate with a model that train_transformers.py made; called by experiment.yaml.

python scripts/translate_transformers.py MODEL --source FILE --output FILE
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    for name in ("source", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name, usual in (("threads", 1), ("batch", 16), ("beam", 5), ("length", 128)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()

    torch.set_num_threads(given.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(given.model)
    model = AutoModelForSeq2SeqLM.from_pretrained(given.model).to(device).eval()
    lines = given.source.read_text("utf-8").split("\n")[:-1]
    with open(given.output, "w", encoding="utf-8", newline="\n") as out, torch.inference_mode():
        for first in range(0, len(lines), given.batch):
            batch = tokenizer(
                lines[first : first + given.batch],
                padding=True,
                truncation=True,
                max_length=given.length,
                return_tensors="pt",
            ).to(device)
            made = model.generate(
                **batch, num_beams=given.beam, max_new_tokens=given.length, do_sample=False
            )
            for text in tokenizer.batch_decode(made, skip_special_tokens=True):
                out.write(" ".join(text.split()) + "\n")


if __name__ == "__main__":
    main()
