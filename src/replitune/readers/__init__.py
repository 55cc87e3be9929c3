"""Scores that other programs computed, as segment statistics; files are recognised by their content."""
