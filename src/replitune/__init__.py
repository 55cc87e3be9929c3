"""Replicated tuning experiments for machine translation, with significance tests that hold."""

__version__ = "0.1.0"
