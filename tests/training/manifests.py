"""Manifests of checkpoints that are right, as another program would write them."""

import json

from training.run import checkpoint


def read(folder):
    """Return what a checkpoint says of itself."""
    return json.loads((folder / "MANIFEST.json").read_text())


def change(folder, **entries):
    """Replace entries of a manifest, and its hash with them."""
    manifest = read(folder) | entries
    manifest["sha256"] = checkpoint._sha256_of(manifest)
    (folder / "MANIFEST.json").write_text(json.dumps(manifest))
