"""The look at the host before a decision: bounded, and the only one."""
