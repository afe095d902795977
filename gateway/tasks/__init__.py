"""What outlives a session: tasks, kept lists, the mail of teams, and calls for later; in SQLite in the state folder."""
