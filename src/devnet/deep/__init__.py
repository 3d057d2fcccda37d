"""Images and sequences: torch networks in the one trainer. Needs the extra `torch`."""
