"""What a cluster with Kueue and Volcano says, as facts: pure, on objects as the API server writes them."""
