"""A running experiment, shown on a terminal or on a page of this machine.

Read only: nothing is written, and no job is disturbed.
"""
