"""Training of transformers: all alphas of one seed at once, each as it would go alone.

Nothing is imported here, so that the command line can name `tabpet train` without loading torch.
"""
