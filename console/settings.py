"""Where every setting comes from, which source won, which sources are trusted."""
