#!/usr/bin/env python3
"""Prints what is in a safetensors file: a line of JSON per tensor, by name, with dtype, shape and SHA-256 of its bytes.
Reads it by the format's description, and, where Python has the safetensors module, by that too: both must agree.

usage: model_digests.py FILE
"""
import hashlib
import json
import struct
import sys

try:
    import safetensors
except ImportError:
    safetensors = None


def digest(dtype, shape, data):
    return {"dtype": dtype, "shape": list(shape), "sha256": hashlib.sha256(data).hexdigest()}


def by_description(content):
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    data = content[8 + size:]
    return {name: digest(one["dtype"], one["shape"], data[slice(*one["data_offsets"])])
            for name, one in header.items()}


def by_module(content):
    return {name: digest(one["dtype"], one["shape"], one["data"]) for name, one in safetensors.deserialize(content)}


def main():
    with open(sys.argv[1], "rb") as file:
        content = file.read()
    found = by_description(content)
    if safetensors is not None and by_module(content) != found:
        sys.exit("the safetensors module reads something else")
    for name in sorted(found):
        print(json.dumps({"name": name, **found[name]}, sort_keys=True))
    print("read by the module, too" if safetensors else "there is no module safetensors", file=sys.stderr)


if __name__ == "__main__":
    main()
