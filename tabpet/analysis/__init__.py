"""From runs to conclusions: the choice of alpha, scores, tables, figures and the page."""
