"""Tools: from the plain form of their declarations to callables that canonicalise, validate and tell effects."""
