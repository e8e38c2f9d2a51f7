"""Backup and restore of an installation's database as one file: `manage.py backup` and `manage.py restore`.

Works for every installation alike, with its own PostgreSQL or with the server of DATABASE_URL.
"""
