"""Everything that people and programs call: the command line and, beside it, what speaks to agents and servers."""
