"""Files into markdown: one module a family of formats, all of it run in a child process.

`worker.ExtractionWorker` is what the indexer uses; `file_extractor.FileExtractor` does the work
within the child.
"""
