"""Projects of manifests: what applying them would change, applying them, and writing a workspace back into files."""
