"""Settings -> an open store."""
