"""A real S3-compatible server on loopback, with keys and buckets of its own."""

from __future__ import annotations

import logging
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Buckets:
    """A running server, its one bucket, and the environment in which clients find it."""

    environment: dict[str, str]
    bucket: str
    client: Any  # boto3's, so that what a test sees or does passes by the code under test

    def objects(self, prefix: str) -> dict[str, bytes]:
        """The content of all objects below a prefix, by the rest of their keys."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=f"{prefix}/")
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        return {key.removeprefix(f"{prefix}/"): self.get(key) for key in keys}

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=key, Body=content)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=key)


@contextmanager
def serving_buckets():
    """Serves one bucket; needs moto and s3fs."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        environment = {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "loopback",
            "AWS_SECRET_ACCESS_KEY": uuid.uuid4().hex,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
        }
        client = boto3.client(
            "s3",
            endpoint_url=environment["AWS_ENDPOINT_URL"],
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
            region_name=environment["AWS_DEFAULT_REGION"],
        )
        bucket = f"prebrief-{uuid.uuid4().hex[:8]}"
        client.create_bucket(Bucket=bucket)
        yield Buckets(environment, bucket, client)
        client.close()
    finally:
        server.stop()


@contextmanager
def buckets_in_environment():
    """Serves one bucket where clients that ask the environment find it, as those of a command do."""
    import pytest
    import s3fs

    with serving_buckets() as buckets, pytest.MonkeyPatch.context() as patch:
        for name, value in buckets.environment.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield buckets
        s3fs.S3FileSystem.clear_instance_cache()
