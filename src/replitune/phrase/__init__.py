"""The embedded phrase-based system."""
