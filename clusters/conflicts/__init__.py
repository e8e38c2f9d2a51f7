"""Where the parts that divide a cluster work against each other, or somebody beside the console does.

``rules`` says what is a conflict (pure), ``watch`` looks and keeps notices, ``told`` is what the layers above know of
jobs, ``texts`` and ``selectors`` make sentences and evidence for people.
"""
