"""MLPerf Tiny's tests over a serial line, as its runner does them, with Python's standard library alone.

runner.py IMAGE.elf DATASET [--performance]: starts the image in QEMU, whose serial line is a pty, and sends the files
that DATASET/y_labels.csv names: all of them once, or the first five 70 times after 10 warm-ups.
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import time
import tty

RUN = pathlib.Path(__file__).resolve().parents[2] / "tools" / "firmware_run.sh"
BYTES_OF_A_LINE = 31


class Board:
    """An image in QEMU and its serial line."""

    def __init__(self, image: str) -> None:
        self.process = subprocess.Popen(["sh", str(RUN), image], env={**os.environ, "SERIAL": "pty"},
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self.process.stdout.readline()
        found = re.search(r"(/dev/\S+)", said)
        if found is None:
            self.process.kill()
            raise SystemExit(f"runner.py: no serial line: {said}{self.process.stdout.read()}".rstrip())
        self.port = found.group(1)
        self.line = os.open(self.port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.line)
        self.command("hello", end=b"command: hello]\r\nm-ready\r\n")  # what was said at the start is not an answer

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        os.close(self.line)

    def command(self, text: str, seconds: float = 60.0, end: bytes = b"m-ready\r\n") -> list[str]:
        """The lines of the answer, without m-ready."""
        os.write(self.line, f"{text}%".encode())
        answer = b""
        latest = time.monotonic() + seconds
        while not answer.endswith(end):
            wait = latest - time.monotonic()
            if wait <= 0 or not select.select([self.line], [], [], wait)[0]:
                self.process.kill()
                raise SystemExit(f"runner.py: no answer to '{text}' within {seconds:.0f} s: {answer!r}")
            more = os.read(self.line, 4096)
            if not more:  # the image ended
                raise SystemExit(f"runner.py: no answer to '{text}': is it an image of firmware/mlperf/mlperf.c?")
            answer += more
        return answer.decode().split("\r\n")[:-2]

    def load(self, data: bytes) -> None:
        self.command(f"db load {len(data)}")
        lines = [data[i:i + BYTES_OF_A_LINE] for i in range(0, len(data), BYTES_OF_A_LINE)]
        answers = [self.command(f"db {line.hex()}") for line in lines]
        if answers != [[]] * (len(lines) - 1) + [["m-load-done"]]:
            raise SystemExit(f"runner.py: {len(data)} bytes are not taken: {[a for a in answers if a]}")

    def infer(self, count: int, warmups: int) -> tuple[list[float], int]:
        """Results, and microseconds."""
        answer = self.command(f"infer {count} {warmups}")
        times = [int(line[9:]) for line in answer if line.startswith("m-lap-us-")]
        results = [line[11:-1].split(",") for line in answer if line.startswith("m-results-[")]
        if len(times) != 2 or len(results) != 1:
            raise SystemExit(f"runner.py: 'infer' says {answer}")
        return [float(x) for x in results[0]], times[1] - times[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image")
    parser.add_argument("dataset", type=pathlib.Path)
    parser.add_argument("--performance", action="store_true")
    arguments = parser.parse_args()
    try:
        with open(arguments.dataset / "y_labels.csv", newline="") as file:
            rows = list(csv.reader(file))[:5 if arguments.performance else None]
    except (OSError, ValueError, csv.Error) as error:
        sys.exit(f"runner.py: {error}: DATASET is the folder of y_labels.csv and the files that it names")
    if not rows or any(len(row) < 3 or not row[2].strip().isdigit() for row in rows):
        sys.exit(f"runner.py: {arguments.dataset / 'y_labels.csv'}: has to have a line 'FILE, CLASSES, LABEL' for each "
                 "file")
    hits, rates = 0, []
    with Board(arguments.image) as board:
        print("\n".join(board.command("name") + board.command("profile")))
        for name, _, label, *_ in rows:
            try:
                data = (arguments.dataset / name).read_bytes()
            except OSError as error:
                sys.exit(f"runner.py: {error}: y_labels.csv names it")
            board.load(data)
            count, warmups = (70, 10) if arguments.performance else (1, 0)
            results, microseconds = board.infer(count, warmups)
            hits += results.index(max(results)) == int(label)
            rates.append(count * 1e6 / microseconds)
    print(f"top 1: {hits} of {len(rows)}")
    print(f"median throughput: {statistics.median(rates):.3f} inferences a second")


if __name__ == "__main__":
    main()
