"""Screens: one file and one style sheet each."""
