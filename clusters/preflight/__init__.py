"""What a cluster can do for the console: one table of features, checked against what a look at the cluster found."""
