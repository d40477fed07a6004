"""The command ``sarrus``: commands in files of the same names, options in `options`, tables in `tables`."""
