"""What jobs of embedded systems took, against what is asked for: no less, and at most twice as much."""

from __future__ import annotations

import pytest

from replitune.backends.registry import get_backend

MULTI30K, LARGE, LARGER, LARGEST = 3.988, 23.911, 71.893, 164.693
"""MB of text: 29,000 pairs of Multi30k; 100,000, 300,000 and 688,000 pairs of 23 words, made up."""

DEV, TEST = 1014, 2014
"""Segments that jobs on Multi30k translated."""

TOOK = [
    ("phrase", "known", "train", MULTI30K, 0, 291),
    ("phrase", "known", "train", LARGE, 0, 709),
    ("phrase", "known", "train", LARGER, 0, 1569),
    ("phrase", "known", "train", LARGEST, 0, 3054),
    ("phrase", "known", "table", MULTI30K, DEV, 310),
    ("phrase", "known", "table", LARGE, 2000, 648),
    ("phrase", "known", "table", LARGER, 2000, 1412),
    ("phrase", "known", "table", LARGEST, 2000, 2523),
    ("phrase", "known", "tune", MULTI30K, DEV, 387),
    ("phrase", "known", "decode", MULTI30K, TEST, 215),
    ("phrase", "known", "train", LARGEST, 0, 3196),  # with the aligner
    ("phrase", "known", "train", LARGEST / 2, 0, 1895),
    ("phrase", "known", "table", LARGEST / 2, 3064, 1673),
    ("phrase", "known", "tune", LARGEST, 2000, 2230),
    ("phrase", "known", "tune", LARGEST / 2, 2000, 1544),
    ("phrase", "known", "decode", LARGEST, 3064, 1834),
    ("phrase", "known", "decode", LARGEST / 2, 3064, 1101),
    ("phrase", "full", "train", MULTI30K, 0, 543),
    ("phrase", "full", "train", LARGE, 0, 2299),
    ("phrase", "full", "tune", MULTI30K, DEV, 464),
    ("phrase", "full", "decode", MULTI30K, TEST, 293),
    ("hiero", "known", "train", MULTI30K, 0, 292),
    ("hiero", "known", "table", MULTI30K, DEV, 361),
    ("hiero", "known", "table", LARGE, 3000, 1311),
    ("hiero", "known", "table", LARGER, 3000, 1904),
    ("hiero", "known", "table", LARGEST, 3000, 2677),
    ("hiero", "known", "decode", LARGEST, 3000, 2574),
    ("hiero", "known", "train", LARGEST, 0, 3195),  # with the aligner
    ("hiero", "known", "tune", LARGEST, 500, 3229),
    ("hiero", "known", "decode", LARGEST, 3064, 3099),
    ("hiero", "known", "tune", MULTI30K, DEV, 498),
    ("hiero", "known", "decode", MULTI30K, TEST, 348),
    ("hiero", "known", "derive", MULTI30K, TEST, 448),
    ("hiero", "full", "train", MULTI30K, 0, 1241),
    ("hiero", "full", "tune", MULTI30K, DEV, 815),
    ("hiero", "full", "decode", MULTI30K, TEST, 667),
    ("hiero", "full", "derive", MULTI30K, TEST, 800),
]


@pytest.mark.parametrize(("backend", "tables", "stage", "text", "segments", "took"), TOOK)
def test_a_job_takes_no_more_than_is_asked_for_nor_less_than_half(
    backend: str, tables: str, stage: str, text: float, segments: int, took: int
):
    system = get_backend("s", {"tables": tables}, backend)
    assert took <= system.memory_mb(stage, text, segments) <= 2 * took
