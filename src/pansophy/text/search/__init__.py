"""Search: ranking by words and by vectors, indexes on disk, answers with citations.

`bm25` and `bm25_index` rank by words (in memory, on disk), `vector_index` by meaning,
`rank_fusion` joins both. `readers` and `chunks` make passages of files, `folder_index`
keeps a folder searchable, `rag` answers from it, `retrieval_evaluation` judges.
"""
