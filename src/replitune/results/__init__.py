"""What the tests found, in memory and on disk."""
