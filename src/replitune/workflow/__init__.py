"""Whole experiments: where the workflow is, new experiments, running one and what people see of it.

Snakemake stays the engine. It is a program that is started; nothing here imports it.
"""
