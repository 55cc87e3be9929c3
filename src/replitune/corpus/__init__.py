"""Reading texts; the made-up language pair."""
