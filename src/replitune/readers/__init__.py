"""Reading scores that other programs computed, from files recognised by their content."""
