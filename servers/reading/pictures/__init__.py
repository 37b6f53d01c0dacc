"""What pictures say: by a vision model, or by reading their letters (OCR)."""
