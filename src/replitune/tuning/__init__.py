"""Tuning of weights: pools, tuners, and the loop around a decoder."""
