"""The store of regression records: files that are only ever added to, with digests, and no pickle."""
