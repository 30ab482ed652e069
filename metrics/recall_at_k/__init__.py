"""Recall at K of retrieval, a folder that works alone.

May import: nothing else of this package.
"""
