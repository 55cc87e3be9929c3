"""Tables, figures and pages that people read."""
