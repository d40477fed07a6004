"""`Mechanism` and its builders: each adds elements of one kind, checked, to the description."""
