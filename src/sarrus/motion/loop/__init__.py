"""The compiled time loop between Python calls: its memory, what stops it, what it noted."""
