"""Adaptive replication: looks at growing numbers of runs, and the rule that ends them."""
