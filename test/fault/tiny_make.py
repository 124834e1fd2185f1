"""tiny_make.py DIR: the network of the fault sweeps, tiny.pt2, and its samples, tiny.npz.

Small, so that thousands of runs take minutes, but with what has code of its own: a convolution that an activation
follows, a sum of two ways, a function by table, a linear layer. Needs PyTorch; the files are checked in.
"""
import sys

import numpy
import torch


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.second = torch.nn.Conv2d(4, 4, 1)
        self.last = torch.nn.Linear(4, 3)

    def forward(self, x):
        a = torch.relu(self.first(x))
        b = torch.sigmoid(self.second(a))
        return self.last((a + b).mean((2, 3)))


torch.manual_seed(1)
model = Tiny().eval()
example = torch.randn(1, 3, 4, 4)
torch.export.save(torch.export.export(model, (example,)), sys.argv[1] + "/tiny.pt2")
samples = torch.rand(6, 3, 4, 4)
labels = model(samples).argmax(1).numpy().astype(numpy.int64)
numpy.savez_compressed(sys.argv[1] + "/tiny.npz", x=samples.numpy(), labels=labels)
