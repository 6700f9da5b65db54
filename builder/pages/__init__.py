"""What people look at in a browser.

In: a working directory or a release. Out: `serve` (Datasette with pages of our own), `report` (one page about a
build), and the pages on which people label (`annotation_page`), accept words (`word_page`) and edit rules
(`rule_page`).

Start reading at `serve.app` and `report.collect`.
"""
