"""What sessions leave behind."""
