"""The Model Context Protocol, both ways: the gateway's tools for any client, and any server behind the policy.

Nothing here is imported to decide a call. The package `mcp`, which speaks the protocol, is imported when a server is
started or a client is served.

Start at `endpoint`. Arriving: `transports` to `pipes`, or to `http_clients` (`unauthenticated`: who has shown no
token yet). Answered by `serve` (our tools) or `proxy` with `client_servers` to `links` (what a server offers,
`pins`), `relay` (one call), `sanitised`. Servers: `upstream` to `child` with `lines`, or to `http_servers`; `wire`
keeps requests and answers together; `circumstances` (what one is judged in), `blocking` (one for callers that block),
`server_pool` (those that policy configures). Asking: `asking`, `turns`, `elicitation`. Offered to models:
`offered_tools`, `tool_catalogue`, `server_tools`.
"""
