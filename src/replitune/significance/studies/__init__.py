"""What replicas show beyond the tests of pairs."""
