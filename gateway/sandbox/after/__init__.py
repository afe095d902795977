"""What is done when a confined call has ended: protected names verified, what was planted moved away, refusals told."""
