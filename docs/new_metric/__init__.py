"""NewMetric, a folder that works alone.

May import: nothing else of this package.
"""
