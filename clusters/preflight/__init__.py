"""What a cluster can do for the console: one table of features, checked against what a look at the cluster found.

``words`` features, verdicts and problems; ``survey`` what a look found; ``table`` the rules, in ``gate_rules``,
``starter_rules`` and ``cluster_rules``: all pure. ``texts`` says it to people; ``service`` looks and keeps the rows.
"""
