"""text -> statistics -> score."""
