"""Trains a network that tells motions of a wrist from 64 samples of an accelerometer, and exports it for nucleon."""

import numpy, torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
# Of each motion (still, walk, shake, circle): swings per second, and how far they go.
RATE, SWING = torch.tensor([0.0, 2.0, 6.0, 1.0]), torch.tensor([0.0, 0.5, 1.0, 0.8])


def motions(count):
    """count windows [3 axes, 64 samples at 50 Hz] in g, and which motion each is."""
    label = torch.randint(4, (count,))
    rate = RATE[label] * (0.8 + 0.4 * torch.rand(count))
    swing = SWING[label] * (0.5 + torch.rand(count))
    phase = 6.2832 * (rate[:, None] * torch.arange(64) / 50 + torch.rand(count, 1))
    axes = nn.functional.normalize(torch.randn(count, 3), dim=1)
    turn = torch.where(label == 3, 1.5708, 0.0)[:, None] * torch.arange(3)
    x = axes[:, :, None] * torch.sin(phase[:, None, :] + turn[:, :, None]) * swing[:, None, None]
    gravity = nn.functional.normalize(torch.randn(count, 3), dim=1)[:, :, None]
    return x + gravity + 0.1 * torch.randn(count, 3, 64), label


class Motion(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv1d(3, 16, 5, 2, 2), nn.BatchNorm1d(16)
        self.conv2, self.norm2 = nn.Conv1d(16, 32, 5, 2, 2), nn.BatchNorm1d(32)
        self.conv3, self.norm3 = nn.Conv1d(32, 32, 5, 1, 2), nn.BatchNorm1d(32)
        self.head = nn.Linear(32, 4)

    def forward(self, motion):
        x = torch.relu(self.norm1(self.conv1(motion)))
        x = torch.relu(self.norm2(self.conv2(x)))
        x = torch.relu(self.norm3(self.conv3(x)))
        return self.head(x.mean(2))


model = Motion()
optimizer = torch.optim.Adam(model.parameters(), 5e-3)
for step in range(400):
    x, label = motions(64)
    loss = nn.functional.cross_entropy(model(x), label)
    optimizer.zero_grad(), loss.backward(), optimizer.step()

model.eval()
x, label = motions(1000)
print(f"accuracy {100 * (model(x).argmax(1) == label).float().mean():.1f} %")

# What nucleon takes: the exported network, samples to quantize with, and held-out samples with their labels.
torch.export.save(torch.export.export(model, (torch.zeros(1, 3, 64),)), "motion.pt2")
numpy.savez_compressed("samples.npz", motion=motions(64)[0].numpy())
numpy.savez_compressed("test.npz", motion=x[:200].numpy(), label=label[:200].numpy())
