"""Python: which program its words run (`programs`) and what that program does (`code`)."""
