"""What a picture shows or says: by a vision model, or by reading its letters (OCR)."""
