"""algebra."""
