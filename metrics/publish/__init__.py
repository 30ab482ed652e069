"""Makes each metric's folder stand alone, exports it and pushes it.

May import: utils.
"""
