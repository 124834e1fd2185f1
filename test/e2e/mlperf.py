#!/usr/bin/python3
"""MLPerf Tiny's protocol as firmware, over QEMU's pty: mlperf.py NUCLEON ROOT. 77, "skipped", without the Arm toolchain or QEMU.

Classes of pixels and an autoencoder's error are those of the program on the host, in the benchmark's words; an
inference takes the instructions that the runner counts; what is wrong is answered, and the line goes on.
"""
import os
import re
import shutil
import sys
import tempfile

import numpy

sys.dont_write_bytecode = True
from on_board import call, nucleon, root  # noqa: E402
sys.path.insert(0, f'{root}/firmware/mlperf')
from runner import Board  # noqa: E402


def check(what, found, wanted):
    if found != wanted:
        sys.exit(f'FAIL {what}: {found} instead of {wanted}')


def build(name, model, calibration, samples, *options):
    """The image, and outputs of the host for the samples."""
    call(nucleon, 'compile', f'{root}/{model}', '--calibration', calibration, '-o', f'{name}.pte', '-q', *options)
    numpy.save('samples.npy', samples)
    call(nucleon, 'run', f'{name}.pte', '--input', 'samples.npy', '-o', f'{name}.npz', '-q')
    built = call('sh', f'{root}/tools/firmware.sh', f'{name}.pte', FIRMWARE_BUILD='build',
                 APPLICATION=f'{root}/firmware/mlperf/mlperf.c')
    return built.split()[1], numpy.load(f'{name}.npz')['out0']


def header(macro):
    with open('build/firmware/generated_ic01/model.h') as file:
        return float(re.search(rf'MODEL_{macro} \(?([-+.e0-9]+)', file.read()).group(1))


def check_words(board):
    """What the line says to what is right and what is not."""
    for command, answer in (('name', ['m-name-dut-[nucleon]']),
                            ('profile', ['m-profile-[ULPMark for tinyML Firmware V0.0.1]', 'm-model-[ic01]']),
                            ('infer 1 0', ['e-[Input has 0 bytes, expected 64]']),
                            ('db load 65', ["e-[Command 'db load' must be >0 and at most 64 bytes]"]),
                            ('db load -1', ["e-[Command 'db load' must be >0 and at most 64 bytes]"]),
                            ('db', ["e-[Command 'db' requires a subcommand]"]),
                            ('db load 10', ['m-[Expecting 10 bytes]']),
                            ('db 0001027', ['e-[Insufficent number of hex digits]']),
                            ('db 00010g', ['e-[Invalid hex digit]']),
                            ('db 02030405060708ff10', ['m-load-done']),
                            ('db print', ['m-buffer-80-81-82-83-84-85-86-87', 'm-buffer-88-7f']),
                            ('infer 0 0', ['e-[Inference iterations must be >0]']),
                            ('infer 1 -1', ['e-[Inference warmup must be >=0]']),
                            ('', ['e-[Unknown command: ]']),
                            ('names', ['e-[Unknown command: names]']),
                            ('x' * 300, [f'e-[Unknown command: {"x" * 160}]'])):
        check(command, board.command(command), answer)
    times = [int(board.command('timestamp')[0].removeprefix('m-lap-us-')) for _ in range(2)]
    check('time goes on', times[0] < times[1], True)
    check('help', board.command('help')[0], 'ULPMark for tinyML Firmware V0.0.1')


os.chdir(tempfile.mkdtemp())
try:
    pixels = numpy.load(f'{root}/examples/digits/test.npz')['input'][:4]
    pixels = numpy.clip(numpy.rint(pixels / numpy.abs(pixels).max() * 127), -128, 127).astype(numpy.int8)
    image, wanted = build('ic01', 'examples/digits/digits.pt2', f'{root}/examples/digits/calibration.npz', pixels, '--target',
                          'imxrt700', '--io', 'int8')
    with Board(image) as board:
        check_words(board)
        for sample, output in zip(pixels, wanted):
            board.load((sample.reshape(-1).astype(numpy.int16) + 128).astype(numpy.uint8).tobytes())
            one, time_of_one = board.infer(1, 0)
            many, time_of_many = board.infer(20, 3)
            check('results', many, one)
            check('results', board.command('results'), [f'm-results-[{",".join(f"{x:.6f}" for x in one)}]'])
            check('the class', numpy.argmax(one), numpy.argmax(output))
            scores = (output.reshape(-1).astype(float) - header('OUTPUT0_ZERO_POINT')) * header('OUTPUT0_SCALE')
            check('scores', numpy.abs(scores - one).max() < 1e-6 * max(1, numpy.abs(scores).max()), True)
            check('time', abs(time_of_many / 20 / time_of_one - 1) < 0.05, True)

    # A network whose output has the shape of its input: the negative of it.
    samples = numpy.random.default_rng(1).standard_normal((3, 1, 49, 10)).astype(numpy.float32)
    numpy.save('calibration.npy', samples)
    image, wanted = build('ad01', 'test/e2e/features.pt2', 'calibration.npy', samples, '--target', 'cortex-m33')
    with Board(image) as board:
        for sample, output in zip(samples, wanted):
            board.load(sample.tobytes())
            error = board.infer(1, 0)[0]
            wanted_error = float(((sample.astype(float) - output) ** 2).mean())
            check('the error', abs(error[0] / wanted_error - 1) < 2e-6, True)
finally:
    shutil.rmtree(os.getcwd())
print('passed')
