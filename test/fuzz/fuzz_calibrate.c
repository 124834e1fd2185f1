/*
 * A model and a data set, both hostile: the command `quantize`, and the calibration of `compile`. The input is a pair
 * (fuzz_support.h) of an archive or LiteRT model and an .npz.
 */
#include <unistd.h>

#include "fuzz_compiler.h"

#define MOST_BYTES 8192 /* of an input or output: bounds the work of the evaluator */

static bool small(const struct nuc_model *m)
{
    struct nuc_tensor_info t;

    for (size_t i = 0; i < nuc_model_n_inputs(m); i++) {
        if (nuc_model_input(m, i, &t) != NUC_OK || t.bytes > MOST_BYTES)
            return false;
    }
    return nuc_model_n_nodes(m) < 64;
}

static enum nuc_status quantize(struct nuc_compiler *c, const char *model, const char *samples)
{
    struct nuc_dataset *data;
    struct nuc_model *m, *quantized, *partitioned;
    enum nuc_status s = nuc_model_open(c, model, &m);

    if (s == NUC_OK && !small(m))
        return NUC_NO_MEMORY;
    s = s != NUC_OK ? s : nuc_dataset_open(c, samples, &data);
    s = s != NUC_OK ? s : nuc_quantize(m, data, &quantized);
    return s != NUC_OK ? s : nuc_partition(quantized, &partitioned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nuc_span model, samples;
    struct nuc_options options;
    struct fuzz_budget budget;
    char model_path[64], samples_path[64];

    if (!fuzz_pair(data, size, &model, &samples)) {
        fuzz_verdict("is no pair");
        return 0;
    }
    int model_fd = fuzz_file(model.data, model.size, model_path);
    int samples_fd = fuzz_file(samples.data, samples.size, samples_path);
    uint32_t h = fuzz_checksum(data, size);
    nuc_options_default(&options);
    options.threads = 1;
    options.accuracy = (h & 3) == 0 ? NUC_ACCURACY_FAST : NUC_ACCURACY_DEFAULT;
    options.observer = (enum nuc_observe)(h >> 2 & 1);
    struct nuc_compiler *c = fuzz_compiler(&options, &budget, (size_t)256 << 20);
    fuzz_compiler_verdict(c, quantize(c, model_path, samples_path));
    nuc_compiler_free(c);
    close(model_fd);
    close(samples_fd);
    return 0;
}
