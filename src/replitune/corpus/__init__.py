"""Corpora: reading test sets in any usual format, training subsets, the synthetic pair."""
