"""The documentation site: ``python -m tools.site``, which ``make docs`` runs.

:mod:`tools.site.pages` lays the pages of the repository out as Sphinx reads them.
:mod:`tools.site.commands` writes the pages of the command line from its parsers. ``docs/conf.py``
says how Sphinx makes HTML of both.
"""
