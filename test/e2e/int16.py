"""Makes int16.pt2, a small network with values of int16 and weights of int8 as torch's PT2E has them, and int16.npz, samples.

    python3 int16.py FOLDER        (torch 2.6 or later)
"""
import sys

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401: registers the operators

q = torch.ops.quantized_decomposed
INT16 = (-32768, 32767, torch.int16)


def rounded(x, scale):
    return q.dequantize_per_tensor(q.quantize_per_tensor(x, scale, 0, *INT16), scale, 0, *INT16)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weight, bias, linear = torch.randn(4, 3, 3, 3) * 0.3, torch.randn(4) * 0.5, torch.randn(5, 4) * 0.4
        scales = weight.abs().amax((1, 2, 3)) / 127
        self.linear_scale = float(linear.abs().max() / 127)
        for name, value in (("scales", scales), ("zeros", torch.zeros(4, dtype=torch.int64)),
                            ("weight", torch.round(weight / scales[:, None, None, None]).to(torch.int8)),
                            ("bias_scales", scales * 2.0**-13),
                            ("bias", torch.round(bias / (scales * 2.0**-13)).to(torch.int32)),
                            ("linear", torch.round(linear / self.linear_scale).to(torch.int8))):
            self.register_buffer(name, value)

    def forward(self, x):
        weight = q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
        bias = q.dequantize_per_channel(self.bias, self.bias_scales, self.zeros, 0, -2**31, 2**31 - 1, torch.int32)
        linear = q.dequantize_per_tensor(self.linear, self.linear_scale, 0, -127, 127, torch.int8)
        y = torch.nn.functional.conv2d(rounded(x, 2.0**-13), weight, bias, padding=1)
        y = rounded(rounded(torch.relu(y), 3e-4).mean((2, 3)), 1e-4)
        return rounded(torch.softmax(rounded(torch.nn.functional.linear(y, linear), 1e-4), 1), 2.0**-15)


torch.manual_seed(5)
torch.export.save(torch.export.export(Net().eval(), (torch.randn(1, 3, 8, 8),)), sys.argv[1] + "/int16.pt2")
np.savez(sys.argv[1] + "/int16.npz", x=torch.randn(4, 1, 3, 8, 8).numpy())
