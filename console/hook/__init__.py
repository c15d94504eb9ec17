"""What a harness runs at its events. Standard library only."""
