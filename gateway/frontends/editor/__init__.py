"""Policy files in editors: what `gateway policy lsp` answers by the Language Server Protocol.

`server` speaks the protocol, with pygls; it is the only module that needs the extra `editor`. `cursor` says where in a
half-written text the cursor stands, `vocabulary` what may stand there and what it means, `checks` what is wrong with a
text, `impact` what it would have decided otherwise. It reads; nothing here writes a policy or starts anything but the
gateway's own replay.
"""
