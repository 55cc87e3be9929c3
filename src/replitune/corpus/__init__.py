"""Reading texts; the synthetic language pair."""
