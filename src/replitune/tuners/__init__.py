"""Tuning a linear model on n-best lists and lattices: MERT, batch MIRA, PRO, one interface."""
