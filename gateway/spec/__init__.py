"""YAML texts to typed specs, or errors with positions."""
