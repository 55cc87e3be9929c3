"""Whole experiments: the files of the workflow, new experiments, running one and showing its progress.

Snakemake is the engine. It is started as a program; nothing here imports it.
"""
