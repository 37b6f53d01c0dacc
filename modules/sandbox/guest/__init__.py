"""The program inside the sandbox, for CPython 3.14 in WebAssembly: nothing of ours imports it."""
