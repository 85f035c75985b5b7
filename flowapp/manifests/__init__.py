"""Projects of manifests: plan their changes, apply them, and export a workspace to files."""
