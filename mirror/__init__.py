"""A git-backed wiki of what agents retained.

A library: no user interface, no HTTP, no import of ``console``. Nothing is imported here, so that
``mirror.keys`` can be used alone.
"""
