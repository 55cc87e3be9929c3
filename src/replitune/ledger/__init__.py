"""What made every file: records, manifest, verification, archives."""
