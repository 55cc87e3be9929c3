"""One module for each test."""
