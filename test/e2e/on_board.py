"""For the tests of this folder that run images in QEMU: python3 TEST.py NUCLEON SOURCE_ROOT ... 77, "skipped", without the tools."""
import os
import shutil
import subprocess
import sys

nucleon, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

for tool in ('arm-none-eabi-gcc', 'qemu-system-arm'):
    if shutil.which(tool) is None:
        print(f'no {tool}')
        sys.exit(77)


def call(*command, **more):
    """What the command prints; it finds nucleon in its environment."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, 'NUCLEON': nucleon, **more})
    if done.returncode != 0:
        sys.exit(f'FAIL {" ".join(command)}: {done.stdout}{done.stderr}')
    return done.stdout
