"""Commands at the prompt: one table, from which dispatch, `/help` and completion follow."""
