"""The commands: one file for each, and one for each family of metrics.

May import: metrics, scale, publish, files, utils.
"""
