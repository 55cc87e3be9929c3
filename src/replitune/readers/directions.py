"""Whether a higher score of a metric is better, by the name of the metric."""

from __future__ import annotations

import re

LOWER = """
ter terp wer cer mer per hter edits metricx perplexity ppl loss nll error errors err latency seconds
duration runtime cost distance mae mse rmse brier ece bpb bpc hallucination hallucinations toxicity
"""
HIGHER = """
score value bleu sacrebleu spbleu chrf chrfpp comet xcomet cometkiwi bleurt nist meteor ribes rouge
bertscore f1 f2 em exact match accuracy acc correct correctness pass passed precision recall auc map
mrr ndcg reward win wins rating quality fluency adequacy faithfulness success resolved da esa human
pearson spearman kendall
"""
"""Words in the names of metrics. `mqm` is in neither: some files count errors, some subtract them."""

_PARTS = re.compile(r"[A-Za-z0-9]+")
_CASES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*")


def higher_is_better(name: str, greatest: float) -> bool | None:
    """None if the name does not say. `greatest`: the largest score; if errors are counted as negative
    numbers, higher is better."""
    parts = (*_PARTS.findall(name), *_CASES.findall(name))
    words = {word for part in parts for word in (part.lower(), part.lower().rstrip("0123456789"))}
    lower, higher = bool(words & {*LOWER.split()}), bool(words & {*HIGHER.split()})
    if lower == higher:
        return None
    return higher or greatest <= 0
