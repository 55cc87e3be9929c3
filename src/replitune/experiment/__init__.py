"""An experiment: its settings, its jobs, and where every file is."""
