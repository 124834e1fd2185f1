#!/usr/bin/python3
"""Makes complex.zip: programs with complex numbers between real inputs and outputs, and what PyTorch computes.

    complex_make.py complex.zip        with PyTorch 2.14, as golden_make.py, which says what the file holds
"""
import os, sys, warnings

import torch
import torch.nn.functional as F

from golden_make import Data, TOLERANCES, programs_of, write

fft = torch.fft
HANN = torch.hann_window(8)


def real(z):
    return torch.view_as_real(z.resolve_conj())


def stft(x, n=8, hop=4, **k):
    return torch.stft(x, n, hop, return_complex=True, **{'window': HANN[:n], **k})


def in_place(x):
    z = fft.fft(x)
    z.mul_(2 - 1j)
    z[..., 0] = 0
    z[..., 1:3] = z[..., 4:6].conj()
    return real(z)


def operator_layer(x):
    z, out = fft.rfft2(x), torch.zeros(2, 5, 4, dtype=torch.cfloat)
    out[:, :2, :3] = torch.einsum('ixy,ioxy->oxy', z[:, :2, :3], torch.polar(WEIGHT, 3 * WEIGHT))
    return fft.irfft2(out, s=(5, 6))


def in_parts(x):
    z = fft.fft(x)
    before = z.imag
    z.real[..., 1:3] = x[..., :2]
    z.imag -= z.real
    z.real.mul_(2)
    z.mul_(1 + 2j)
    return real(z), before


def as_complex(x):
    y = x[:, :6].clone().reshape(2, 3, 2)
    z = torch.view_as_complex(y)
    z[:, 1:].mul_(1j)
    y[0] += 1
    z.imag.mul_(3)
    return y, real(z)


def part_of_the_other(x):
    z = fft.fft(x)
    z.real.copy_(z.imag)
    z.imag.zero_()
    return real(z)


def casts(x):
    z = x.to(torch.cfloat)
    w = z.to(torch.float32)
    z.mul_(2j)
    w.add_(1)
    return x + 0, real(z), w


def whole_numbers(x):
    z, n = fft.fft(x), torch.arange(14).reshape(2, 7)
    copied = z.clone()
    copied[0] = n[1]
    copied[1] = x[1]
    return real(torch.cat([z, n, x, x > 0])), real(torch.where(x > 0, z, n)), real(torch.stack([n, z])), real(copied)


WEIGHT = torch.linspace(0.5, 2, 24).reshape(2, 2, 2, 3)
MATRIX = torch.polar(torch.linspace(0.5, 2, 21), torch.linspace(-3, 3, 21)).reshape(3, 7)
ROTATION = torch.polar(torch.ones(3, 2), torch.outer(torch.arange(3.), torch.tensor([1, 0.1])))

LINE, PLANE = (2, 7), (2, 5, 6)
PROGRAMS = {
    'fft': (LINE, lambda x: real(fft.fft(x))),
    'fft.norm': (LINE, lambda x: real(fft.fft(fft.fft(x, 5, 0, 'forward'), 9, norm='ortho'))),
    'ifft': (LINE, lambda x: real(fft.ifft(x, 4) + fft.ifft(fft.fft(x, 4), norm='forward'))),
    'rfft': (LINE, lambda x: (real(fft.rfft(x)), real(fft.rfft(x, 10, 0, 'ortho')))),
    'irfft': (LINE, lambda x: (fft.irfft(fft.rfft(x)), fft.irfft(fft.rfft(x), 7, norm='forward'), fft.irfft(x, 9))),
    'fft2': (PLANE, lambda x: (fft.fft2(x, norm='ortho').real, fft.ifft2(fft.fft2(x), (4, 7)).imag)),
    'rfft2': (PLANE, lambda x: fft.irfft2(fft.rfft2(x), (5, 6))),
    'rfft2.norm': (PLANE, lambda x: fft.irfft2(fft.rfft2(x, (4, 8), (0, 2), 'ortho'), dim=(0, 2), norm='ortho')),
    'fftn': (PLANE, lambda x: real(fft.ifftn(fft.fftn(x, dim=(0, 2)), s=(3, 4)))),
    'rfftn': (PLANE, lambda x: (real(fft.rfftn(x, (3, 4))), fft.irfftn(fft.rfftn(x), (2, 5, 6)))),
    'fftshift': (PLANE, lambda x: (fft.fftshift(fft.fft2(x), (1, 2)).abs(), fft.ifftshift(fft.fft2(x)).real)),
    'fftfreq': (LINE, lambda x: x * fft.fftfreq(7, 0.5) + fft.rfftfreq(12, 2.0)),
    'stft': ((2, 30), lambda x: real(stft(x))),
    'stft.options': ((30,), lambda x: real(stft(x, hop=5, win_length=6, window=HANN[:6], center=False, onesided=False,
                                                normalized=True))),
    'istft': ((2, 30), lambda x: torch.istft(stft(x), 8, 4, window=HANN, length=30)),
    'istft.options': ((30,), lambda x: torch.istft(stft(x, hop=3, normalized=True), 8, 3, window=HANN, normalized=True)),
    'power': ((2, 30), lambda x: torch.log10(stft(x).abs()**2 + 1)),
    'angle': (LINE, lambda x: (torch.angle(fft.fft(x + 1)[..., 1:4]),
                              fft.rfft(torch.cat([x, -x, x.flip(1), -x.flip(1)]), 6).angle())),
    'mul': (LINE, lambda x: real(fft.fft(x) * torch.complex(x, 1 - x) * x * 0.5 * (1 + 2j))),
    'div': (LINE, lambda x: real(fft.fft(x) / torch.complex(x, 2 + x) + 1 / torch.complex(2 + x, x) + fft.fft(x) / 3)),
    'add': (LINE, lambda x: real(torch.add(fft.fft(x), x, alpha=2) - x + (x - fft.fft(x).conj()) + (1j - fft.fft(x)))),
    'exp': (LINE, lambda x: (real(torch.exp(1j * x)), real(torch.exp(torch.complex(x, x))))),
    'pow': (LINE, lambda x: real(fft.fft(x)**2 + torch.square(torch.complex(x, x)))),
    'polar': ((3, 4), lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(3, 2, 2)) * ROTATION).flatten(1)),
    'matmul': (PLANE, lambda x: (real(fft.fft(x) @ fft.fft(x).mT), real(fft.fft(x)[0] @ fft.fft(x)[0, 0]))),
    'linear': (LINE, lambda x: (real(F.linear(fft.fft(x), MATRIX, MATRIX[:, 0])), real(F.linear(fft.fft(x), MATRIX)),
                               real(F.linear(fft.fft(x), MATRIX[0])))),
    'addmm': (LINE, lambda x: real(torch.addmm(MATRIX[0, :3], fft.fft(x), MATRIX.mT, beta=2, alpha=0.5))),
    'einsum': (PLANE, lambda x: real(torch.einsum('bij,bkj->ik', fft.fft(x), torch.complex(x, -x)))),
    'moves': (PLANE, lambda x: real(torch.cat([torch.roll(z, 2, -1) for z in fft.fft(x).chunk(2, 1)], 1).sum(0)[None])),
    'where': (LINE, lambda x: real(torch.where(x > 0, fft.fft(x), torch.stack([fft.fft(x), x.to(torch.cfloat)])))),
    'adjoint': (PLANE, lambda x: (real(fft.fft(x).mH @ torch.ones_like(fft.fft(x))), real(fft.fft(x).adjoint()),
                                real(fft.fft(x[0]).H))),
    'in_place': (LINE, in_place),
    'in_place.parts': (LINE, in_parts),
    'in_place.as_complex': (LINE, as_complex),
    'in_place.part_of_the_other': (LINE, part_of_the_other),
    'casts': (LINE, casts),
    'whole_numbers': (LINE, whole_numbers),
    'operator_layer': (PLANE, operator_layer),
}


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def main():
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    programs, data = [], Data()
    TOLERANCES[' '.join(PROGRAMS)] = (1e-4, 2e-5)
    for name, (sizes, function) in PROGRAMS.items():
        x = torch.randn(sizes, generator=torch.Generator().manual_seed(len(programs)))
        programs += programs_of(name, name, Program(function).eval(), [x], set(), data)
    write(sys.argv[1], programs, data)
    print('%d programs, %d bytes' % (len(programs), os.path.getsize(sys.argv[1])))


if __name__ == '__main__':
    main()
