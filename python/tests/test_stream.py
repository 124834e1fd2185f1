"""A program with states, fed step by step."""

import unittest

import numpy

import nucleon

from digits import ROOT

MODEL = ROOT / "test" / "e2e" / "states.pt2"
STEPS = numpy.random.default_rng(1).standard_normal((3, 40, 8)).astype("float32")  # sequences, steps


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = nucleon.compile(MODEL, STEPS)
        cls.whole = cls.program.run(STEPS)

    def test_sequences_begin_with_initial_values(self):
        self.assertEqual(self.whole.shape, (3, 40, 1, 8))
        for steps, whole in zip(STEPS, self.whole):
            numpy.testing.assert_array_equal(self.program.run(steps[:, None]), whole)
        joined = self.program.run(STEPS.reshape(120, 1, 8))
        self.assertTrue((joined[:40] == self.whole[0]).all() and (joined[40:80] != self.whole[1]).any())

    def test_hops_of_a_network_over_a_window(self):
        model = ROOT / "test" / "e2e" / "stream.pt2"
        recordings = numpy.random.default_rng(2).standard_normal((3, 1, 4, 64)).astype("float32")
        whole = nucleon.compile(model, recordings).run(recordings)
        program = nucleon.compile(model, recordings, stream="2:4")
        self.assertEqual(program.report["stream"]["ring_bytes"], 72)
        hops = program.run(recordings)  # recordings, hops, then the output of a hop
        numpy.testing.assert_array_equal(numpy.concatenate(list(hops.swapaxes(0, 1)), axis=-1), whole)

    def test_interleaved(self):
        streams = [self.program.stream() for _ in STEPS]
        for k in range(40):
            for stream, steps, whole in zip(streams, STEPS, self.whole):
                numpy.testing.assert_array_equal(stream(steps[k : k + 1]), whole[k])

    def test_a_frame_without_batch_and_many_steps(self):
        stream = self.program.stream()
        self.assertEqual(stream(STEPS[0, 0]).shape, (8,))
        numpy.testing.assert_array_equal(stream(STEPS[0, 1:30, None]), self.whole[0, 1:30])
        numpy.testing.assert_array_equal(stream(STEPS[:1, 30:]), self.whole[:1, 30:])
        with self.assertRaisesRegex(nucleon.BadUsage, "given 3 sequences"):
            stream(STEPS)

    def test_reset(self):
        stream = self.program.stream()
        stream(STEPS[1, :, None])
        stream.reset()
        numpy.testing.assert_array_equal(stream(STEPS[0, :, None]), self.whole[0])

    def test_saved_and_restored(self):
        stream = self.program.stream()
        stream(STEPS[2, :17, None])
        saved = stream.save()
        stream(STEPS[0, :, None])
        for other in (stream, self.program.stream(), nucleon.Program(self.program.bytes).stream()):
            other.restore(saved)
            numpy.testing.assert_array_equal(other(STEPS[2, 17:, None]), self.whole[2, 17:])
        with self.assertRaisesRegex(nucleon.BadUsage, "are they of this program"):
            stream.restore(saved[:-1])
        with self.assertRaisesRegex(nucleon.BadUsage, "takes the bytes that save"):
            stream.restore("states")

    def test_more_steps_than_a_runner_is_used_for(self):
        steps = numpy.concatenate([*STEPS] * 3)
        wanted, stream = self.program.run(steps[:, None]), self.program.stream()
        for step, one in zip(steps, wanted):
            numpy.testing.assert_array_equal(stream(step[None]), one)

    def test_evaluation(self):
        labels = numpy.arange(3)
        result = self.program.evaluate((STEPS, labels), reference=MODEL)
        self.assertEqual((result["samples"], result["sequences"]["count"]), (120, 3))
        last = result["outputs"][0]["classes"]["last_step"]
        decided = self.whole[:, -1, 0].argmax(1)
        self.assertEqual((last["labelled"], last["program_right"]), (3, int((decided == labels).sum())))
        self.assertEqual([s["first"] for s in result["sequences"]["steps"]], [1, 2, 4, 8, 16, 32])


if __name__ == "__main__":
    unittest.main()
