"""Backends: what makes a system's translations."""
