"""Significance tests: is the difference between two systems real?"""
