"""The structure of a shell text in our own terms: what the walk knows of the grammar."""

from __future__ import annotations

from gateway.core.value import Value


class Node(Value):
    """One piece of structure; `start` and `end` are positions in the skeleton, which is as long as its text. Its kinds:

    simple:              a simple command with its redirects: words are read from the text
    test:                [[ … ]]
    sequence:            statements one after the other
    background:          one statement, followed by &
    chain:               statements joined by && and ||; "&&"/"||" nodes between them
    pipeline:            statements joined by | or |&
    not:                 ! statement
    subshell:            ( … )
    group:               { … }
    arithmetic:          (( … ))
    redirected:          a compound command; what follows its end are redirects
    if:                  condition, branch, condition, branch, …, [else branch]
    while:               condition, body (also until)
    for:                 name, words, body (also select)
    for arithmetic:      for (( … )): body
    case:                word, items
    item:                patterns, body
    item falls through:  the same, ended by ;& or ;;&
    function:            name, body
    span:                a name, words or patterns, to be read from the text
    error:               what the grammar could not place, with the statements found in it
    unknown:             a node kind that is not on the list
    """

    kind: str
    start: int
    end: int
    children: tuple[Node, ...] = ()
