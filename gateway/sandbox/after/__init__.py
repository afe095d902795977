"""What is done after a confined call: protected names are verified, planted files moved away, refusals reported."""
