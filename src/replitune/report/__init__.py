"""Tables, figures and the one-file report."""
