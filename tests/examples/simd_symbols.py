#!/usr/bin/env python3
"""Checks that dense_v3.cpp shares no mergeable function with code built for older CPUs.

usage: simd_symbols.py NM ARCHIVE

Inline functions are weak symbols, and the linker keeps one of each name. If the object that is compiled
with -march=x86-64-v3 brought, say, std::vector<float>::resize, every CPU could be handed its AVX code.
"""
import subprocess
import sys


def main() -> int:
    nm, archive = sys.argv[1:]
    listing = subprocess.run([nm, "-C", archive], capture_output=True, text=True, check=True)
    ours, shared, of_v3 = False, [], 0
    for line in listing.stdout.splitlines():
        if line.endswith(".o:"):
            ours = "dense_v3" in line
            continue
        parts = line.split(None, 2)
        if not ours or len(parts) < 3 or parts[1] not in "WVui":
            continue
        name = parts[2]
        if "eigen_v3" in name:
            of_v3 += 1
        elif not name.startswith("DW.ref."):  # a pointer to data, no code
            shared.append(name)
    if of_v3 == 0:
        print("found no symbol of eigen_v3: has dense_v3.cpp moved?")
        return 1
    for name in shared:
        print(f"dense_v3.cpp defines a mergeable symbol: {name}")
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main())
