"""What the Spaces' pages share; it becomes each metric's _page.py.

May import: files, utils.
"""
