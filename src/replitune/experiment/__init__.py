"""An experiment file: its settings, what it asks for, and where every file is."""
