"""Text from a bank made harmless for a terminal."""
