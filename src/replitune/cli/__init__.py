"""The commands that people type, and `replitune job`, which the rules call."""
