#!/usr/bin/env python3
"""Reads the machine code and the PTX of the kernels, which needs no GPU. Of each kernel, for each architecture:

- no multiply-add is fused: none in the PTX, where each operation says how it rounds, so that a driver that compiles it
  fuses none either; in the machine code only those that IEEE square roots and divisions consist of, counted exactly
  against reference_roots.cu. No approximation and no flushing of subnormals
- memory moves in pieces of 16 bytes (8 of halves), as many as kernel_table says, and all is asked for before anything
  is computed
- no spills, no local memory, and no more registers than REGISTERS allows

usage: disassembly.py TABLE_PROGRAM LIBRARY REFERENCE [--print]

--print shows registers and occupancy of each kernel. cuobjdump is TIDEGATE_CUOBJDUMP, or the one beside nvcc, or the
one on the PATH; without it the test is skipped. nvdisasm must lie beside it."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77  # CTest's SKIP_RETURN_CODE
ARCHITECTURES = ["sm_80", "sm_90", "sm_100"]

# Registers of a thread at most, by step, in the eights that they are dealt in; of a kernel that follows a plan PLANNED at
# most, or more where its step has more, and GAPPED where inputs may have gaps. A step that is not named has what launch.cuh allows: four blocks of 256 threads,
# which is half of a multiprocessor.
REGISTERS = {"sum": 40, "assign": 40, "sgd": 48, "momentum": 56, "nesterov": 48, "adagrad": 48, "adam": 56, "adamw": 56,
             "proximal": 48}
REGISTERS_MAX = 64
PLANNED = 48
GAPPED = 56
THREADS_PER_BLOCK = 256
THREADS_MIN = 1024  # of a multiprocessor that work at a time
MULTIPROCESSOR = {"registers": 65536, "threads": 2048}  # sm_80, sm_90 and sm_100

TYPES = {"0": "float32", "1": "float16", "2": "bfloat16"}
KERNEL = re.compile(r"step_kernel<.*?(?:dense_sum<\(\S*?element\)(?P<type>\d), (?P<count>\d+)ul>|(?P<plan>planned|gapped)_sum), "
                    r"\S*?(?:optimizers::(?P<step>\w+)|sum_step)")
ROWS = re.compile(r"(?:column|row)_kernel<\S*?(?:optimizers::(?P<step>\w+)> *|(?P<whole>\w+?)_(?:step|row))>\(|copy_kernel<(?P<unit>\S+)>\(")
FORBIDDEN_PTX = re.compile(
    r"^\s*(?:@\S+ )?((?:add|sub|mul)\.f32|(?:fma|mad)\.\S*f(?:32|64)|\S*\.ftz\S*|\S*\.approx\S*|ld\.global\.nc\S*|"
    r"sqrt\.(?!rn)\S+|div\.(?!rn)\S*f32)", re.MULTILINE)
FIND = ("find", "float32", "any", "finite")  # the search for numbers that are not finite
WIDE_LOAD = re.compile(r"LDG\.E\.(?:\S+\.)?(128|64) R(\d+)")


def find_cuobjdump() -> str | None:
    named = os.environ.get("TIDEGATE_CUOBJDUMP")
    if named:
        return named
    compilers = [shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"]
    beside = [pathlib.Path(compiler).resolve().parent for compiler in compilers if compiler]
    return next((str(folder / "cuobjdump") for folder in beside if (folder / "cuobjdump").exists()),
                shutil.which("cuobjdump"))


def output_of(*command: str) -> str:
    environment = {**os.environ, "PATH": f"{pathlib.Path(command[0]).parent}:{os.environ['PATH']}"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {run.returncode}: {run.stderr.strip()[-300:]}")
    return run.stdout


def machine_code(tool: str, path: str) -> dict[tuple[str, str], list[str]]:
    """The instructions of each kernel, by architecture and name."""
    kernels, architecture = {}, ""
    for section in re.split(r"^(?=arch = |\t\tFunction : )", output_of(tool, "-sass", path), flags=re.MULTILINE):
        if match := re.match(r"arch = (\S+)", section):
            architecture = match[1]
        elif match := re.match(r"\t\tFunction : (\S+)", section):
            kernels[architecture, match[1]] = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", section, re.MULTILINE)
    return kernels


def resources(tool: str, path: str) -> dict[tuple[str, str], dict[str, int]]:
    usage, architecture, name = {}, "", ""
    for line in output_of(tool, "-res-usage", path).split("\n"):
        if match := re.match(r"\s*arch = (\S+)", line):
            architecture = match[1]
        elif match := re.match(r"\s*Function (\S+):", line):
            name = match[1]
        elif match := re.match(r"\s*REG:", line):
            usage[architecture, name] = {key: int(value) for key, value in re.findall(r"(\w+):(\d+)", line)}
    return usage


def ptx_of(tool: str, path: str) -> dict[str, str]:
    text = output_of(tool, "-ptx", path)
    return {match[1]: match[2] for match in
            re.finditer(r"\.entry (\w+)\(.*?\)[^{]*?\{(.*?)^\}", text, re.MULTILINE | re.DOTALL)}


def readable(names: list[str]) -> dict[str, str]:
    return dict(zip(names, subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                                          check=True).stdout.split("\n")))


def count(pattern: str, lines: list[str]) -> int:
    return sum(bool(re.search(pattern, line)) for line in lines)


def fused_adds(code: dict[tuple[str, str], list[str]], architecture: str, operation: str) -> tuple[int, int]:
    """(multiply-adds of each such operation, those that all of a kernel share)."""
    first, second = (count("FFMA", code[architecture, f"reference_{operation}_{number}"]) for number in (1, 2))
    return second - first, 2 * first - second


class kernel:
    """A kernel of the table, and what is wrong with its code."""

    def __init__(self, line: str):
        self.sum, self.type, inputs, self.step, *figures = line.split()
        self.inputs = int(inputs)
        self.vectors, self.loads, self.short_loads, self.stores = map(int, figures)

    def key(self) -> tuple:
        return FIND if self.sum == FIND[0] else (self.sum, self.type, self.inputs, self.step)

    def label(self) -> str:
        return f"{self.sum} {self.type} {self.inputs} {self.step}"

    def registers_max(self) -> int:
        budget = REGISTERS.get(self.step, REGISTERS_MAX)
        return max(budget, {"planned": PLANNED, "gapped": GAPPED}.get(self.sum, 0))

    def problems_of_ptx(self, text: str) -> list[str]:
        found = FORBIDDEN_PTX.findall(text)
        return [f"PTX has {', '.join(sorted(set(found)))}"] if found else []

    def problems_of_code(self, code: list[str], allowed: int) -> list[str]:
        problems = []
        if (found := count("FFMA", code)) != allowed:
            problems.append(f"{found} fused multiply-adds; square roots and divisions have {allowed}")
        loads, short, stores = (count(pattern, code) for pattern in
                                (r"LDG\.E\.(\S+\.)?128", r"LDG\.E\.(\S+\.)?64\b", r"STG\.E\.(\S+\.)?128"))
        exact = self.sum not in ("planned", "gapped", "rows")
        if self.sum == "rows":  # whose addresses are loads of 8 bytes
            short = 0
        if (loads, short) != (self.loads, self.short_loads) if self.sum not in ("planned", "gapped") else loads <= self.loads:
            problems.append(f"{loads} loads of 16 bytes and {short} of 8; the table says {self.loads} and {self.short_loads}")
        if stores != self.stores:
            problems.append(f"{stores} stores of 16 bytes; the table says {self.stores}")
        if count(r"\b(LDL|STL)\b", code):
            problems.append("local memory is used")
        if exact:
            problems += self.problems_of_order(code)
        return problems

    def problems_of_order(self, code: list[str]) -> list[str]:
        """Nothing reads what a wide load brings before the last of them has been issued."""
        wide = [index for index, line in enumerate(code) if WIDE_LOAD.search(line)]
        loaded: set[str] = set()
        for line in code[wide[0]:wide[-1] + 1] if wide else []:
            operands = line.partition(",")[2]
            if loaded & set(re.findall(r"\bR\d+\b", operands)):
                return [f"waits for a load before all are issued: {line}"]
            if match := WIDE_LOAD.search(line):
                loaded |= {f"R{int(match[2]) + word}" for word in range(int(match[1]) // 32)}
        return []

    def problems_of_use(self, usage: dict[str, int]) -> list[str]:
        problems = []
        if usage["REG"] > self.registers_max():
            problems.append(f"{usage['REG']} registers; {self.registers_max()} are allowed")
        if usage["STACK"] or usage["LOCAL"]:
            problems.append(f"{usage['STACK']} bytes of stack, {usage['LOCAL']} of local memory")
        if threads_at_a_time(usage["REG"]) < THREADS_MIN:
            problems.append(f"{threads_at_a_time(usage['REG'])} threads at a time; {THREADS_MIN} are wanted")
        return problems


def threads_at_a_time(registers: int) -> int:
    """Of a multiprocessor; registers are dealt to a warp in eights of each thread."""
    of_block = (registers + 7) // 8 * 8 * THREADS_PER_BLOCK
    return min(MULTIPROCESSOR["threads"], MULTIPROCESSOR["registers"] // of_block * THREADS_PER_BLOCK)


def key_of(name: str) -> tuple | None:
    if "find_kernel(" in name:
        return FIND
    if match := ROWS.search(name):
        floats = 4 if "vector" in (match["unit"] or "") else 1
        return "rows", "float32", floats, match["step"] or match["whole"] or "copy"
    match = KERNEL.search(name)
    if match is None:
        return None
    if match["count"] is None:
        return match["plan"], "any", 0, match["step"] or "sum"
    return "dense", TYPES[match["type"]], int(match["count"]), match["step"] or "sum"


def check(tool: str, table: list[kernel], library: str, reference: str, shows: bool) -> list[str]:
    code, usage, ptx, roots = (machine_code(tool, library), resources(tool, library), ptx_of(tool, library),
                               machine_code(tool, reference))
    names = {key_of(text): name for name, text in readable(sorted({name for _, name in code} | set(ptx))).items()}
    problems = []
    if unknown := len(names.keys() - {entry.key() for entry in table}):
        problems.append(f"{unknown} kernels are not in the table")
    for entry in table:
        name = names.get(entry.key())
        if name is None or name not in ptx:
            problems.append(f"{entry.label()}: there is no such kernel")
            continue
        problems += [f"{entry.label()}: {problem}" for problem in entry.problems_of_ptx(ptx[name])]
        uses = [(operation, len(re.findall(pattern, ptx[name]))) for operation, pattern in
                (("root", r"sqrt\.rn\.f32"), ("quotient", r"div\.rn\.f32"))]
        # A division in float64 looks at the sizes of its operands by one in float32.
        looks = len(re.findall(r"div\.rn\.f64", ptx[name]))
        for architecture in ARCHITECTURES:
            if (architecture, name) not in code:
                problems.append(f"{entry.label()}: no machine code for {architecture}")
                continue
            parts = [(times, *fused_adds(roots, architecture, operation)) for operation, times in uses if times]
            allowed = looks + sum(times * each + shared for times, each, shared in parts)
            found = entry.problems_of_code(code[architecture, name], allowed)
            found += entry.problems_of_use(usage[architecture, name])
            problems += [f"{entry.label()}, {architecture}: {problem}" for problem in found]
            if shows:
                registers = usage[architecture, name]["REG"]
                print(f"{entry.label():28} {architecture:6} {registers:3} registers {threads_at_a_time(registers):5} threads")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="the program kernel_table")
    parser.add_argument("library")
    parser.add_argument("reference")
    parser.add_argument("--print", action="store_true", dest="shows")
    options = parser.parse_args()
    tool = find_cuobjdump()
    if tool is None:
        print("skipped: no cuobjdump; set TIDEGATE_CUOBJDUMP, or `pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm`")
        return SKIPPED
    table = [kernel(line) for line in output_of(options.table).splitlines()]
    problems = check(tool, table, options.library, options.reference, options.shows)
    for problem in problems:
        print(problem)
    print(f"{len(table)} kernels for {', '.join(ARCHITECTURES)}: {len(problems)} problem(s)")
    return 1 if problems or not table else 0


if __name__ == "__main__":
    sys.exit(main())
