"""Every operation of a Hindsight server, by the server's own description of itself."""
