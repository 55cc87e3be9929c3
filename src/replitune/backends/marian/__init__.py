"""`backend: marian`: neural systems, with one training seed per replica."""
