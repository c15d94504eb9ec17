"""The commands. One module per command group; everything else is imported lazily."""
