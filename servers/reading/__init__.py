"""Any file or page into markdown: documents and the web, by one pipeline in child processes."""
