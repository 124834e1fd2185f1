#!/usr/bin/python3
"""A front end of a camera in front of the digits' network: camera.py NUCLEON ROOT

Frames give the outputs of the network without a front end on images that are prepared here, on the CPU and with the NPU;
image files give those of their frames; frames of other sizes are refused.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy

nucleon, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
model = f'{root}/examples/digits/digits.pt2'
os.chdir(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp())
random = numpy.random.default_rng(1)


def call(*args, code=0):
    done = subprocess.run([nucleon, *args, '-q'] if code == 0 else [nucleon, *args], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f'{" ".join(args)}: exit code {done.returncode} instead of {code}: {done.stderr}')
    return done.stderr


def describe(name, **image):
    with open(name, 'w') as out:
        json.dump({'image': image}, out)


def outputs(program, data):
    call('run', program, '--input', data, '--output', 'out.npz')
    return numpy.load('out.npz')['out0']


def write_png(name, pixels):
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    height, width, channels = pixels.shape
    rows = b''.join(b'\0' + row.tobytes() for row in pixels)
    with open(name, 'wb') as out:
        out.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)) +
                  chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


# One value for each pixel, and a luma for each: the front end is a table.
frames = random.integers(0, 256, (5, 8, 8), dtype=numpy.uint8)
values = (frames.astype(numpy.float32) / numpy.float32(255) - numpy.float32(0.25)) / numpy.float32(0.5)
numpy.save('values.npy', values[:, None])
frames.tofile('frames.grey')
numpy.stack([frames, numpy.full_like(frames, 128)], -1).tofile('frames.yuyv')
frames.repeat(3).tofile('frames.rgb888')
os.mkdir('images')
for i, frame in enumerate(frames):
    write_png(f'images/{i}.png', frame[:, :, None])
for target, options in (('imxrt700', ['--no-quantize']), ('imxrt700', []), ('cortex-m33', [])):
    data = [] if '--no-quantize' in options else ['--calibration', 'values.npy']
    call('compile', model, '-o', 'plain.pte', '--target', target, *options, *data)
    wanted = outputs('plain.pte', 'values.npy')
    for kind in ('grey', 'yuyv', 'rgb888'):
        describe('front.json', format=kind, width=8, height=8, mean=[0.25], std=[0.5], channels='grey')
        data = [] if '--no-quantize' in options else ['--calibration', f'frames.{kind}']
        call('compile', model, '-o', 'camera.pte', '--target', target, '--front-end', 'front.json', *options, *data)
        if not numpy.array_equal(outputs('camera.pte', f'frames.{kind}'), wanted):
            sys.exit(f'{target} {options} {kind}: outputs are not those of prepared images')
        if kind != 'yuyv' and not numpy.array_equal(outputs('camera.pte', 'images'), wanted):
            sys.exit(f'{target} {options} {kind}: outputs of image files are not those of their frames')

# Three channels, which convolutions of the CPU take innermost, and those of the NPU as it likes.
colours = random.integers(0, 256, (4, 8, 8, 3), dtype=numpy.uint8)
colours.tofile('colours.rgb888')
numpy.save('colours.npy', colours.transpose(0, 3, 1, 2).astype(numpy.float32) / numpy.float32(255))
describe('front.json', format='rgb888', width=8, height=8)
for target in ('imxrt700', 'cortex-m33', 'cortex-m55'):
    for name, data, options in (('plain', 'colours.npy', []), ('camera', 'colours.rgb888', ['--front-end', 'front.json'])):
        call('compile', f'{root}/test/e2e/int16.pt2', '-o', f'{name}.pte', '--target', target, '--calibration', data, *options)
    if not numpy.array_equal(outputs('camera.pte', 'colours.rgb888'), outputs('plain.pte', 'colours.npy')):
        sys.exit(f'{target}: outputs of frames of three channels are not those of prepared images')

# Frames of another size, of which a part is taken: images of the frame's proportions are scaled to it.
describe('front.json', format='rgb565', width=24, height=20, crop='center', channels='grey')
os.mkdir('photos')
for i in range(4):
    write_png(f'photos/{i}.png', random.integers(0, 256, (40, 48, 3), dtype=numpy.uint8))
call('compile', model, '-o', 'camera.pte', '--front-end', 'front.json', '--calibration', 'photos')
if outputs('camera.pte', 'photos').shape[0] != 4:
    sys.exit('four photos are not four samples')

size = 24 * 20 * 2
for bytes_ in size - 1, size + 1, 0:
    with open('frame.rgb565', 'wb') as out:
        out.write(bytes(bytes_))
    message = call('run', 'camera.pte', '--input', 'frame.rgb565', code=1)
    if f'has {bytes_} bytes, a frame of 24 x 20 pixels in rgb565 {size}:' not in message:
        sys.exit(f'a frame of {bytes_} bytes: {message}')
with open('frame.yuyv', 'wb') as out:
    out.write(bytes(size))
if 'is of yuyv by its name, the program takes rgb565' not in call('run', 'camera.pte', '--input', 'frame.yuyv', code=1):
    sys.exit('frames of another format are taken')
message = call('run', 'camera.pte', '--input', 'photos', '--mean', '0.5', code=2)
if 'a front end prepares frames itself' not in message:
    sys.exit(message)
for image, said in (({'format': 'yuyv', 'width': 7, 'height': 8}, 'come in pairs'),
                    ({'format': 'grey', 'width': 8, 'height': 8, 'channels': 'rgb'}, 'one image of 3 channels')):
    describe('front.json', **image)
    done = subprocess.run([nucleon, 'compile', model, '-o', 'x.pte', '--front-end', 'front.json', '--no-quantize'],
                          capture_output=True, text=True)
    if said not in done.stderr or done.returncode not in (1, 2) or os.path.exists('x.pte'):
        sys.exit(f'{image}: {done.stderr}')
