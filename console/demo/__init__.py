"""A sample project memory that tells a story."""
