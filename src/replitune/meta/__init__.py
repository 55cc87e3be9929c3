"""Metrics and people: correlations, agreement, which metric correlates better."""
