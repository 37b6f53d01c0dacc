"""The pages of docs/ that are written from the code, and the picture of a run."""
