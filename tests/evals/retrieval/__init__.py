"""What measures search: public sets of questions, through the real index files.

`python -m tests.evals.retrieval [SET…]` prints nDCG@10, recall@5 and MRR of words alone, vectors
alone and both, beside the figures that were there first. The sets lie in `../shared/data` beside
the checkout, or where `CORTEX_EVAL_DATA` says; nothing of them is in the project.
"""
