"""Linear models at many states in kernels: by straight-line code, and by general algebra."""
