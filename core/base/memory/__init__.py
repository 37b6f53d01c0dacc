"""What sessions leave behind: their files read, and the facts that a user has stated."""
