"""From candidates to passages: fused scores, neighbours as one text, no text twice."""
