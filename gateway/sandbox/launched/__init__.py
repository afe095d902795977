"""What runs in the launcher and in the processes that it makes: a Python of its own, without site packages.

The launcher is small and single threaded, so it forks in a fraction of a millisecond, where a gateway with many threads
and much memory could not do so safely or quickly. Nothing in here imports anything of the gateway but its neighbours,
nor `contextlib`, which would double the time that it takes to start.

`main` takes orders. For a call in namespaces it makes `space`, process 1 of the sandbox, which builds what `rootfs`
says; for any other it makes a `supervisor`. Both end in `command`, the process that becomes the command.
"""
