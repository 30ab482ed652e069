"""What stands below the metrics: checks, the contract of compute, resampling, tokens, n-grams, nouns, T5.

May import: nothing else of this package.
"""
