"""Percent quotas as versioned plans: how a cluster is divided, who changed it, and what a change would do."""
