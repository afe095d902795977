"""What known programs do: one YAML description per program, and the engine that applies them to shell text."""
