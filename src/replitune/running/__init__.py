"""Files, processes, checkpoints, failures: how jobs run."""
