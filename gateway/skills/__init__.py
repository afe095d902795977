"""Skills and commands: know-how that people have written down as Markdown, found by layer and loaded on demand."""
