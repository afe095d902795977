"""What calls change, saved so that it can be taken back.

Start at `store`: a folder for each project, in it one for each call that changed something. `saver` writes down what a
name was before a call touches it, told by `listening` (the kernel, for confined commands) or by whoever is about to
write; `leaving` writes down what the call left; `undoing` compares both with what is there, and `undo` makes names what
they were. `state`, `area` and `runs_later` are pure.
"""
