"""What outlives a session: tasks, kept lists, the mail of teams, and scheduled calls; in SQLite in the state folder."""
