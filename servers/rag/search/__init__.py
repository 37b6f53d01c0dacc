"""From a question to passages: candidates by words and vectors, fused scores, no text twice."""
