"""The embedded hierarchical phrase-based system."""
