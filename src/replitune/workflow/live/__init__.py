"""Shows a running experiment on a terminal, or as a page for browsers on this machine.

It only reads: nothing is written, and no job is disturbed.
"""
