"""One offline HTML file about one or several result files."""
