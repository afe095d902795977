"""Who is asked where policy asks, and what becomes of the answer."""
