"""What the backends over vendors' SDKs share: their HTTP client, and what errors mean."""
