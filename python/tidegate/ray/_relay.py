"""The process that the launcher starts as a host's agent, where the agent is in an actor of Ray (_agents.py): hands on what
is written to it, says what the agent says, and ends as it does.

usage: _relay.py SOCKET HOST COMMAND...
"""

import json
import os
import socket
import struct
import sys
import threading

READ_BYTES = 1 << 16


def pass_input(to: socket.socket) -> None:
    try:
        while data := os.read(0, READ_BYTES):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def main() -> int:
    path, host, *command = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError as error:
            print(f"the program that has called tidegate.ray.launch is not there: {error}", flush=True)
            return 1
        connection.sendall(json.dumps({"host": host, "command": command}).encode() + b"\n")
        threading.Thread(target=pass_input, args=(connection,), daemon=True).start()
        with connection.makefile("rb") as said:
            while len(head := said.read(5)) == 5:
                kind, value = head[:1], struct.unpack("<I", head[1:])[0]
                if kind == b"E":
                    return int(value)
                sys.stdout.buffer.write(said.read(value))
                sys.stdout.buffer.flush()
    print("the program that has called tidegate.ray.launch is gone", flush=True)
    return 1


if __name__ == "__main__":
    # The thread waits for input that may never end.
    code = main()
    sys.stdout.flush()
    os._exit(code)
