"""SQL: statements, and the clients that are given them."""
