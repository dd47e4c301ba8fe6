"""Clusters around centres: k-means and its kin, medoids, fuzzy, maps.

`lloyd_iteration` and `initialization` are under every k-means.
"""
