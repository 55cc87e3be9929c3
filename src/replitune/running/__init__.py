"""How jobs run: files, processes, checkpoints, locks and failures."""
