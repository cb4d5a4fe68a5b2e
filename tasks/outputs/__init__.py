"""What a build leaves behind: its folder, and what reads, explains and exports it."""
