"""What a model that needs no account calls, one after the other, in every example here: a mail, a file, a secret."""

STEPS = [
    ("send_mail", {"to": "ann@example.com", "text": "See you on Tuesday."}),
    ("Read", {"file_path": "notes.txt"}),
    ("Bash", {"command": "cat ~/.ssh/id_rsa"}),
]


def agreed(why: str) -> bool:
    """A person's answer. Here it is yes, so that the examples run by themselves; yours is a dialog."""
    print(f"asked: {why}")
    return True


def told(tool: str, result: object) -> None:
    """What the model reads of a call."""
    print(f"{tool}: {str(result).strip()}")
