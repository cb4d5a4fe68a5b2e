"""Speed and scale, measured on swarms that are made up on the spot."""
