"""The warm path: a small local service that answers hooks and dry runs, and the thin client that asks it."""
