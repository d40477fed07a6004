"""The command line ``sarrus``: look at a model, simulate it, draw, export and time it."""
