"""What backends over a vendor's SDK share: its HTTP client, and the words of its failures."""
