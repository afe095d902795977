"""The life of calls that run: approved, planned, recorded, handed to their handler; and what outlives a call."""
