"""Whole experiments: finds the workflow's files, makes new experiments, runs them and shows progress.

Snakemake is the engine. It is started as a program; nothing here imports it.
"""
