"""Files of the field -> predictions and references.

May import: utils.
"""
