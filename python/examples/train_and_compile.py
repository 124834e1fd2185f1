"""Trains a network in torch, compiles it, runs and judges it: python3 train_and_compile.py examples/digits out.pte"""
import sys, numpy, torch, nucleon  # noqa: E401

data = numpy.load(sys.argv[1] + "/test.npz")
x, y = torch.from_numpy(data["input"]), torch.from_numpy(data["label"])
model = torch.nn.Sequential(torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                            torch.nn.Flatten(), torch.nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for _ in range(60):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x[:300]), y[:300]).backward()
    optimizer.step()
exported = torch.export.export(model.eval(), (x[:1],))
program = nucleon.compile(exported, torch.utils.data.DataLoader(x[:64], batch_size=16), output=sys.argv[2])
print("decisions", program.run(x[300:310]).argmax(1).tolist(), "labels", y[300:310].tolist())
result = program.evaluate(x[300:], y[300:], reference=exported)
print(f"accuracy {result['outputs'][0]['classes']['program']['accuracy']:.3f}, SQNR {result['sqnr_db']:.1f} dB")
