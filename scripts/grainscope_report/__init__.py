"""GrainScope's reports: reads result files, checks them, summarises them and draws their figures.

One module reads the format (`reader`), one holds the statistics (`statistics`), one table lists the
figures (`figures.table`); every command goes through those three.
"""
