"""Policy: rules compiled into an index, and the resolver that gives one verdict. Pure."""
