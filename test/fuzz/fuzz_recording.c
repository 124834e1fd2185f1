/* Files of sound and of axes, and label tracks: what is read is finite, and as much as there is. */
#include <math.h>

#include "data/recordings.h"
#include "fuzz_support.h"

#define MEMORY ((size_t)64 << 20)

static void read_track(struct nuc_context *cx, const struct nuc_span *bytes)
{
    struct nuc_label *labels;
    const size_t n = nuc_read_label_track(cx, "input", *bytes, &labels);

    for (size_t i = 0; i < n; i++) {
        if (!(labels[i].begin >= 0 && labels[i].end >= labels[i].begin) || !isfinite(labels[i].end))
            fuzz_broken("a label does not lie in the recording");
    }
}

static void read(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    const bool sound = bytes->size > 0 && bytes->data[0] == 'R';

    if (bytes->size > 0 && bytes->data[0] == '0') {
        read_track(cx, bytes);
        return;
    }
    const struct nuc_recording r = sound ? nuc_read_wav(cx, "input", *bytes) : nuc_read_csv(cx, "input", *bytes);

    if (r.length == 0 || r.axes == 0 || r.length * r.axes > bytes->size)
        fuzz_broken("a recording has more values than bytes");
    for (size_t i = 0; i < r.length * r.axes && !sound; i++) {
        if (!isfinite(r.values[i]))
            fuzz_broken("a value is not finite");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, read);
}
