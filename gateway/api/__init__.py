"""The library: `Gateway`, which judges and runs, the `Executor` for shell texts, and tools for the anthropic SDK."""
