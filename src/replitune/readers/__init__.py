"""Numbers that others computed: their files, told by content, as segment statistics."""
