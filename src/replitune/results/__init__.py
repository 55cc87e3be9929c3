"""Results of the tests, in memory and on disk."""
