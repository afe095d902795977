"""This runs in the sandbox, in a Python of its own: it gets the input, and gives a text or data."""

from collections import Counter


def count(given):
    return dict(Counter(given["text"].split()).most_common())
