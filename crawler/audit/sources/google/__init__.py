"""Search Console and Google Analytics by their APIs: the reports, their requests, and the results that are kept."""
