"""Above the metrics: statistics of parts, wherever these lie and are worked on, and one score of them.

May import: metrics, publish, files, utils.
"""
