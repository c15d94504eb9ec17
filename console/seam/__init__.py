"""The write-through seam: one loopback endpoint that harnesses point at instead of their memory server."""
