"""What makes the translations of a system."""
