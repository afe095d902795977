"""Confinement: the plan of a call, the backends that enforce it, and what is checked after it.

Start at `run`. Before: `profile`, `survey` (`toolchains`, `roots`, `repositories`, `index`), `plan` (`mounts`,
`network`, `agreed`). Backends are in `backends/`; what the gateway starts for them is in `launched/`: `main`, then
`space` with `rootfs`, or `supervisor` with `domain`. `contract` is what each backend must hold, `attempts` probes it;
`seccomp`, `bpf` and `syscalls` are their filter. During: `spawn`, `pump`, `limits`, `cgroup`, `watch`, `egress/`.
After: `after/`.
"""
