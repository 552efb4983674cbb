"""Reports for others than the reader of a terminal: an HTML page, JUnit XML, annotations for GitHub."""
