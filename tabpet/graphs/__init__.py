"""Feature graphs: estimators, and what is known about a graph (Methodology, "Graph Estimation")."""
