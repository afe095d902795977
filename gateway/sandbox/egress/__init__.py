"""Egress by host and port: what a confined call may reach, and the proxy that is its only way out.

`service.Egress` is the face. `decide`, `addresses`, `http`, `socks`, `dns` and `tls` are pure.
"""
