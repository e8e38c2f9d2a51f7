"""The suite that runs against real schedulers: a Kubernetes control plane with Kueue and Volcano on loopback."""
