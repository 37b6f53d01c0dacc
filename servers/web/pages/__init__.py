"""Pages of the web as a model reads them: fetched, read, kept, shown in windows."""
