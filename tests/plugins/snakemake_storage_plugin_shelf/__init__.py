"""A storage for Snakemake that is a folder: what a bucket is to those who have one."""

from __future__ import annotations

import shutil
from pathlib import Path

from snakemake_interface_storage_plugins.io import Mtime
from snakemake_interface_storage_plugins.storage_object import StorageObjectRead, StorageObjectWrite
from snakemake_interface_storage_plugins.storage_provider import (
    ExampleQuery,
    QueryType,
    StorageProviderBase,
    StorageQueryValidationResult,
)


class StorageProvider(StorageProviderBase):
    @classmethod
    def example_queries(cls):
        return [ExampleQuery("/folder/file", "a file", QueryType.ANY)]

    def rate_limiter_key(self, query, operation):
        return None

    def default_max_requests_per_second(self):
        return 0.0

    def use_rate_limiter(self):
        return False

    @classmethod
    def is_valid_query(cls, query):
        return StorageQueryValidationResult(query, valid=query.startswith("/"))


class StorageObject(StorageObjectRead, StorageObjectWrite):
    @property
    def kept(self) -> Path:
        return Path(self.query)

    async def inventory(self, cache):
        key = self.cache_key()
        cache.exists_in_storage[key] = self.exists()
        if self.exists():
            cache.mtime[key], cache.size[key] = Mtime(storage=self.mtime()), self.size()

    def get_inventory_parent(self):
        return None

    def local_suffix(self):
        return self.query.removeprefix("/")

    def cleanup(self):
        pass

    def exists(self):
        return self.kept.exists()

    def mtime(self):
        return self.kept.stat().st_mtime

    def size(self):
        return self.kept.stat().st_size

    def retrieve_object(self):
        copy(self.kept, self.local_path())

    def store_object(self):
        copy(self.local_path(), self.kept)

    def remove(self):
        shutil.rmtree(self.kept) if self.kept.is_dir() else self.kept.unlink()


def copy(source: Path, to: Path) -> None:
    """File by file, each of which is there as a whole or not at all, as in a bucket."""
    files = [path for path in source.rglob("*") if path.is_file()] if source.is_dir() else [source]
    for file in files:
        place = to / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, half := place.with_name(f".{place.name}.half"))
        half.replace(place)
