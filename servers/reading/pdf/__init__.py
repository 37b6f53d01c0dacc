"""PDF by PyMuPDF where it is installed, else by pdfium."""
