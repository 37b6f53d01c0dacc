"""By what the index was made, and what becomes of what was made by something else."""

import sqlite3
from collections.abc import Iterator

from servers.rag.index import meta
from servers.rag.index.changes import forget_log, log_changes


def adopt(connection: sqlite3.Connection, fingerprint: str, recipe: str) -> list[str]:
    """Make the index ours, within a transaction; gives what a person should be told."""
    notes = [*_adopt_fingerprint(connection, fingerprint), *_adopt_recipe(connection, recipe)]
    if notes:
        log_changes(connection, ())
    return notes


def _adopt_fingerprint(connection: sqlite3.Connection, fingerprint: str) -> Iterator[str]:
    known = meta.read_text(connection, meta.FINGERPRINT)
    if fingerprint in ("", known):
        return
    meta.write(connection, meta.FINGERPRINT, fingerprint)
    dropped = connection.execute(
        "UPDATE chunks SET vector = NULL WHERE vector IS NOT NULL"
    ).rowcount
    if dropped:
        forget_log(connection)
        yield (
            f"The embedder changed (from {known} to {fingerprint}): "
            f"{dropped} chunks are embedded again."
        )


def _adopt_recipe(connection: sqlite3.Connection, recipe: str) -> Iterator[str]:
    known = meta.read_text(connection, meta.RECIPE)
    if recipe in ("", known):
        return
    meta.write(connection, meta.RECIPE, recipe)
    marked = connection.execute("UPDATE documents SET content_hash = '', modified_ns = -1").rowcount
    if marked:
        yield (
            f"Documents are read otherwise than before (from {known or 'nothing'} to {recipe}): "
            f"{marked} are read again."
        )
