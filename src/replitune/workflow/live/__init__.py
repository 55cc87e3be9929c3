"""A run while it goes on: what there is to see of it, on a terminal or on a page of this machine.

Read only: nothing is written, and no job is disturbed.
"""
