"""A small network in float, quantized after training, and trained with quantization: what accuracy each has.

Needs torch and torchao, nucleon's Python module, and scikit-learn for its digits. docs/qat.md explains it.
"""

import warnings

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torchao.quantization.pt2e import move_exported_model_to_eval, move_exported_model_to_train
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

import nucleon
from nucleon.executorch import NeutronQuantizer, NeutronTargetSpec

warnings.filterwarnings("ignore", category=DeprecationWarning)
torch.manual_seed(1)
torch.set_num_threads(1)


class Block(nn.Module):
    """A depthwise convolution and one of one pixel, each with a batch norm and ReLU6."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.pointwise = nn.Conv2d(channels, out, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)

    def forward(self, x):
        x = F.relu6(self.norm1(self.depthwise(x)))
        return F.relu6(self.norm2(self.pointwise(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        strides = (1, 1, 2, 1, 1, 1, 1, 1, 1, 1)
        self.blocks = nn.Sequential(*(Block(8, 8, stride) for stride in strides))
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = F.relu6(self.norm(self.stem(x)))
        return self.head(self.blocks(x).mean((2, 3)))


def train(model, x, y, epochs, rate, calm=None):
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * (len(x) // 64))
    for epoch in range(epochs):
        if calm is not None and epoch == epochs * 2 // 3:
            calm(model)
        for batch in torch.randperm(len(x)).split(64)[: len(x) // 64]:
            optimizer.zero_grad()
            F.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
            schedule.step()


def accuracy(model, x, y):
    with torch.no_grad():
        return 100 * (model(x).argmax(1) == y).float().mean().item()


# Data: digits in noise, so that there is something to lose. Every fifth image is held out, and has five noises.
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
held = torch.arange(len(images)) % 5 == 0
x, y, x_test, y_test = images[~held], labels[~held], images[held].repeat(5, 1, 1, 1), labels[held].repeat(5)
x, x_test = (t + 0.2 * torch.randn(t.shape) for t in (x, x_test))

# 1. In float.
model = Net()
train(model, x, y, 20, 0.02)
model.eval()
print(f"float network                      {accuracy(model, x_test, y_test):6.2f} %")

# 2. Quantized after training, by nucleon.
exported = torch.export.export(model, (x[:1],))
torch.export.save(exported, "float.pt2")
for weights in ("per-channel", "per-tensor"):
    program = nucleon.compile(exported, x[:128], weights=weights)
    print(f"after training, {weights:11}        {accuracy(program.run, x_test, y_test):6.2f} %")

# 3. Trained with quantization: exported with a batch of any size, prepared, trained on, converted.
batch = {0: torch.export.Dim("batch", min=2)}
trained = torch.export.export(model, (x[:2],), dynamic_shapes=(batch,)).module()
quantizer = NeutronQuantizer(NeutronTargetSpec("imxrt700"), is_qat=True)
prepared = prepare_qat_pt2e(trained, quantizer)
move_exported_model_to_train(prepared)


def calm(module):
    """Ranges stay from here on, and so do the batch norms' statistics."""
    for name, part in module.named_modules():
        if hasattr(part, "disable_observer"):
            part.disable_observer()


train(prepared, x, y, 15, 0.004, calm)
move_exported_model_to_eval(prepared)
quantized = convert_pt2e(prepared)
print(f"with quantization, in torch        {accuracy(quantized, x_test, y_test):6.2f} %")

# 4. The program: one image at a time, without samples.
exported = torch.export.export(quantized, (x[:1],))
torch.export.save(exported, "trained.pt2")
program = nucleon.compile(exported, output="trained.pte", require_full_delegation=True)
print(f"with quantization, the program     {accuracy(program.run, x_test, y_test):6.2f} %")
