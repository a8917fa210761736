"""A server that plays a store of S3 and checks signatures (moto's). Run by the Python of TIDEGATE_S3_PYTHON; used
from tests by the class below, whatever Python those have.

    s3_server.py serve PORT FOLDER    makes a user and the bucket `kept`, and writes FOLDER/keys.json when all is ready
    s3_server.py list|get|put|uploads ...  looks into the store as that user
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

REGION = "eu-central-1"
BUCKET = "kept"
# So many of the first requests need no key: those that make one, and the bucket.
OPEN_ACTIONS = 4


def client(service, endpoint, keys):
    import boto3
    from botocore.config import Config

    return boto3.client(service, endpoint_url=endpoint, region_name=REGION, aws_access_key_id=keys["id"],
                        aws_secret_access_key=keys["secret"], config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}))


def prepare(endpoint):
    # The same keys whenever it starts: who has them knows nothing of another start.
    urllib.request.urlopen(urllib.request.Request(endpoint + "/moto-api/seed?a=1", method="POST"), timeout=10).close()
    nobody = {"id": "none", "secret": "none"}
    iam = client("iam", endpoint, nobody)
    iam.create_user(UserName="trainer")
    made = iam.create_access_key(UserName="trainer")["AccessKey"]
    allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="trainer", PolicyName="all", PolicyDocument=json.dumps(allow))
    keys = {"id": made["AccessKeyId"], "secret": made["SecretAccessKey"]}
    client("s3", endpoint, nobody).create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    return keys


def serve(port, folder):
    """At a port of its own until all is ready: whoever asks at the known one would ask among the first."""
    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = str(OPEN_ACTIONS)
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    store = DomainDispatcherApplication(create_backend_app)
    quiet = make_server("127.0.0.1", 0, store, threaded=True)
    threading.Thread(target=quiet.serve_forever, daemon=True).start()
    keys = prepare(f"http://127.0.0.1:{quiet.port}")
    quiet.shutdown()
    known = make_server("127.0.0.1", port, store, threaded=True)
    path = pathlib.Path(folder) / "keys.json"
    path.with_suffix(".new").write_text(json.dumps(keys))
    path.with_suffix(".new").rename(path)
    known.serve_forever()


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class S3Server:
    """What it keeps is in its memory, and gone with it. One that starts again has the same address, keys and bucket."""

    def __init__(self, python, folder):
        self.python = python
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.keys = {}

    def start(self, seconds=60):
        (self.folder / "keys.json").unlink(missing_ok=True)
        with open(self.folder / "server.log", "a") as log:
            self.process = subprocess.Popen([self.python, "-B", __file__, "serve", str(self.port), str(self.folder)],
                                            stdout=log, stderr=log)
        end = time.monotonic() + seconds
        while not (self.folder / "keys.json").exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the server has not come up: " + (self.folder / "server.log").read_text()[-2000:])
            time.sleep(0.05)
        self.keys = json.loads((self.folder / "keys.json").read_text())
        return self

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def environment(self):
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": self.keys["id"],
                "AWS_SECRET_ACCESS_KEY": self.keys["secret"]}

    def ask(self, *words, data=b""):
        done = subprocess.run([self.python, "-B", __file__, words[0], self.endpoint, json.dumps(self.keys), *words[1:]],
                              input=data, capture_output=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode()[-2000:])
        return done.stdout

    def keys_of(self, prefix=""):
        return json.loads(self.ask("list", prefix))

    def uploads(self):
        return json.loads(self.ask("uploads"))

    def get(self, key):
        return self.ask("get", key)

    def put(self, key, data):
        self.ask("put", key, data=data)


def main():
    word = sys.argv[1]
    if word == "serve":
        return serve(int(sys.argv[2]), sys.argv[3])
    s3 = client("s3", sys.argv[2], json.loads(sys.argv[3]))
    rest = sys.argv[4:]
    if word == "list":
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=rest[0])
        print(json.dumps([entry["Key"] for page in pages for entry in page.get("Contents", [])]))
    elif word == "uploads":
        print(json.dumps([entry["Key"] for entry in s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]))
    elif word == "get":
        sys.stdout.buffer.write(s3.get_object(Bucket=BUCKET, Key=rest[0])["Body"].read())
    elif word == "put":
        s3.put_object(Bucket=BUCKET, Key=rest[0], Body=sys.stdin.buffer.read())


if __name__ == "__main__":
    main()
