"""The report of an audit in every format: text, HTML, CSV, JSON, SARIF, JUnit. Start at ``write.py``.

May import audit findings and rules, and the page's templates; knows neither crawl nor sources.
"""
