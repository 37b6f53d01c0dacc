"""The endpoints: what each does, and the table of all."""
