"""Plans as text: checked and repaired before they run."""
