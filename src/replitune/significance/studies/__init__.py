"""What replicas say beyond the tests of pairs."""
