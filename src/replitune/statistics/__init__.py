"""Segment statistics: made from outputs, kept on disk, read again."""
