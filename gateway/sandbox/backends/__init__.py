"""Backends that enforce a sandbox plan: namespaces of our own, bubblewrap, Landlock, the profile for macOS. `choose`
picks one."""
