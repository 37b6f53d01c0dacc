"""Drivers for other people's clients; each runs in the environment of its peer.

Their imports can't be resolved from our environment, which is why pyright leaves this folder out.
"""
