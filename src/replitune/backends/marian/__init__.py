"""`backend: marian`: neural systems, one training seed per replica."""
