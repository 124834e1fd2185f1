/*
 * Check on the default mode: partitions as the reference has them give the bytes recorded for them; where the default
 * mode cuts others, the whole program gives those of the program in reference mode.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "nucleon/runner.h"

#define MAX_IO 16

/* A program of the case's quantized model. */
static bool open_program(struct nuc_compiler *c, const struct conf_case *k, struct nuc_runner **p,
                         struct conf_report *r)
{
    struct nuc_model *lowered = conf_lowered(c, k, "qdq.pt2", r);
    const uint8_t *bytes;
    size_t size;

    if (lowered == NULL)
        return false;
    if (nuc_program(lowered, &bytes, &size) != NUC_OK) {
        conf_failed(r, c, "program");
        return false;
    }
    if (nuc_runner_open_bytes(c, k->label, bytes, size, NULL, p) != NUC_OK) {
        conf_failed(r, c, "load");
        return false;
    }
    return true;
}

static bool same_sample(struct nuc_runner **p, const void *const *inputs, struct conf_report *r)
{
    struct nuc_tensor_info info;
    void *outputs[2][MAX_IO] = {{NULL}};
    bool same = true;

    for (size_t i = 0; i < nuc_runner_n_outputs(p[0]) && i < MAX_IO; i++) {
        nuc_runner_output(p[0], i, &info);
        for (int k2 = 0; k2 < 2; k2++)
            outputs[k2][i] = calloc(1, info.bytes + 1);
    }
    for (int i = 0; i < 2 && same; i++)
        same = nuc_runner_run(p[i], inputs, outputs[i]) == NUC_OK;
    if (!same)
        conf_differ(r, "the program cannot be run");
    for (size_t i = 0; i < nuc_runner_n_outputs(p[0]) && i < MAX_IO; i++) {
        nuc_runner_output(p[0], i, &info);
        if (same && memcmp(outputs[0][i], outputs[1][i], info.bytes) != 0) {
            conf_differ(r, "output %zu is another one than in reference mode", i);
            same = false;
        }
        free(outputs[0][i]);
        free(outputs[1][i]);
    }
    return same;
}

static enum conf_result run_both(struct nuc_compiler *c, const struct conf_case *k, struct nuc_runner **p,
                                 struct conf_report *r)
{
    struct nuc_tensor_info infos[MAX_IO];
    struct nuc_dataset *data;
    const void *inputs[MAX_IO];
    char golden[4096];
    size_t n_samples = 0;

    if (!conf_path(k, "golden.npz", golden, sizeof golden) || nuc_runner_n_inputs(p[0]) > MAX_IO ||
        nuc_runner_n_outputs(p[0]) > MAX_IO)
        return conf_differ(r, "no golden inputs, or too many");
    for (size_t i = 0; i < nuc_runner_n_inputs(p[0]); i++)
        nuc_runner_input(p[0], i, &infos[i]);
    if (nuc_dataset_open(c, golden, &data) != NUC_OK ||
        nuc_dataset_bind(data, infos, nuc_runner_n_inputs(p[0]), &n_samples) != NUC_OK)
        return conf_failed(r, c, "golden inputs");
    for (size_t s = 0; s < n_samples; s++) {
        if (nuc_dataset_sample(data, s, inputs) != NUC_OK)
            return conf_failed(r, c, "golden inputs");
        if (!same_sample(p, inputs, r))
            return CONF_DIFFERENT;
    }
    return CONF_EQUAL;
}

static enum conf_result compare_programs(struct nuc_compiler *own, const struct conf_case *k, struct conf_report *r)
{
    struct nuc_compiler *compat = conf_compiler(k);
    struct nuc_runner *p[2];
    enum conf_result result = CONF_DIFFERENT;

    if (compat == NULL)
        abort();
    if (open_program(own, k, &p[0], r)) {
        if (open_program(compat, k, &p[1], r)) {
            result = run_both(compat, k, p, r);
            nuc_runner_close(p[1]);
        }
        nuc_runner_close(p[0]);
    }
    nuc_compiler_free(compat);
    return result;
}

enum conf_result check_defaults(struct nuc_compiler *own, const struct conf_case *c, struct conf_report *r)
{
    char data[4096];
    enum conf_result result;

    conf_path(c, "delegate_io.npz", data, sizeof data);
    if (conf_same_partitions(own, c, data)) {
        neutronInit();
        result = conf_check_partitions(own, c, data, r);
        neutronDeinit();
    } else {
        result = compare_programs(own, c, r);
    }
    return result;
}
