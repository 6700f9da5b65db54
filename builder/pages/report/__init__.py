"""What a person reads about a build: sections of tables, figures and examples, as an HTML page, Markdown, CSV and
rows of SQLite.
"""
