/*
 * A program and a data set, both hostile: the commands `run` and `evaluate`. The input is a pair (fuzz_support.h) of a
 * program and an .npz.
 */
#include <stdlib.h>
#include <unistd.h>

#include "fuzz_backend.h"
#include "fuzz_compiler.h"
#include "nucleon/evaluate.h"

#define MOST_BYTES 65536
#define MOST_SAMPLES 64

/* Whether the program takes little enough time and memory to be run here: what fuzz_program.c bounds it by. */
static bool cheap(const uint8_t *image, size_t size)
{
    struct nuc_program_sizes sizes;
    enum nuc_status s = nuc_program_sizes(image, size, &fuzz_backends, &sizes, NULL);

    if (s != NUC_OK)
        return true; /* the runner refuses it as well */
    size_t total = sizes.temporary;
    for (size_t i = 0; i < sizes.n_planned; i++) {
        if (sizes.planned[i] > MOST_BYTES)
            return false;
        total += sizes.planned[i];
    }
    return total <= 4 * MOST_BYTES && sizes.state <= 8 * MOST_BYTES && fuzz_program_is_short(image, size, &sizes);
}

static enum nuc_status run(struct nuc_compiler *c, const struct nuc_span *program, const char *data_path)
{
    struct nuc_simulator_options simulator = {NUC_SIMULATOR_BEST, 1};
    struct nuc_evaluate_options options;
    const struct nuc_evaluation *result;
    struct nuc_runner *r = NULL;
    struct nuc_dataset *data;
    enum nuc_status s = nuc_dataset_open(c, data_path, &data);

    s = s != NUC_OK ? s : nuc_runner_open_bytes(c, "input", program->data, program->size, &simulator, &r);
    if (s == NUC_OK) {
        nuc_runner_suit(r, data);
        nuc_evaluate_options_default(&options);
        options.max_disagreements = 3;
        s = nuc_evaluate(r, data, NULL, &options, &result);
    }
    if (s == NUC_OK) {
        const char *text;
        s = nuc_evaluation_json(c, result, NULL, &text);
    }
    nuc_runner_close(r);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nuc_span program, samples;
    struct nuc_options options;
    struct fuzz_budget budget;
    char path[64];

    if (!fuzz_pair(data, size, &program, &samples)) {
        fuzz_verdict("is no pair");
        return 0;
    }
    uint8_t *image = fuzz_copy(program.data, program.size);
    program.data = image;
    if (cheap(image, program.size)) {
        int fd = fuzz_file(samples.data, samples.size, path);
        nuc_options_default(&options);
        options.threads = 1;
        struct nuc_compiler *c = fuzz_compiler(&options, &budget, (size_t)64 << 20);
        fuzz_compiler_verdict(c, run(c, &program, path));
        nuc_compiler_free(c);
        close(fd);
    } else {
        fuzz_verdict("takes too much work or memory for a fuzzer");
    }
    free(image);
    return 0;
}
