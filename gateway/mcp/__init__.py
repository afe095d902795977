"""The Model Context Protocol, both ways: the gateway's tools for any client, and any server behind the policy.

Nothing here is imported to decide a call. The package `mcp`, which speaks the protocol, is imported when a server is
started or a client is served.
"""
