"""Widgets: each one file, none knows a store."""
