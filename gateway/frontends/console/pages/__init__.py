"""The pages: each a function from what was looked up to elements. None of them reads a file or asks anybody."""
