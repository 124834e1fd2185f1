/*
 * The way from a model to a program, with options that follow from the input: a model is refused, or the program made
 * of it is one the runtime takes the size of. Inputs are .tflite and .pt2 files.
 */
#include <stdlib.h>
#include <unistd.h>

#include "fuzz_compiler.h"
#include "nucleon/runtime.h"

#define MEMORY ((size_t)256 << 20)
#define MOST_BYTES 65536 /* of an input or output: bounds the work of the evaluator */

/* The options are chosen by the bits of a checksum. */
static void choose_options(struct nuc_options *o, const uint8_t *data, size_t size)
{
    static const char *const targets[] = {"imxrt700",   "imxrt700", "imxrt700cm", "cortex-m33",
                                          "cortex-m55", "imxrt700", "imxrt700cm", "cortex-m0plus"};
    static const char *const preserved[] = {"pad", "hardswish"};
    uint32_t h = fuzz_checksum(data, size);

    nuc_options_default(o);
    o->target = targets[h & 7];
    o->dim_order = (enum nuc_dim_order)(h >> 3 & 3);
    o->io = (h >> 5 & 1) != 0 ? NUC_IO_INT8 : NUC_IO_FLOAT;
    o->delegate_data = (h >> 6 & 1) != 0 ? NUC_DELEGATE_SEGMENT : NUC_DELEGATE_INLINE;
    o->profile = h >> 7 & 1;
    o->fetch_constants_to_sram = h >> 8 & 1;
    o->plan_delegate_scratch = h >> 9 & 1;
    o->use_neutron_for_format_conversion = h >> 10 & 1;
    o->allow_no_op_partitions = h >> 11 & 1;
    o->executorch_ops_only = h >> 12 & 1;
    o->placement = (h >> 13 & 1) != 0 ? NUC_PLACEMENT_COST : NUC_PLACEMENT_GREEDY;
    o->preserve_ops = preserved;
    o->n_preserve_ops = (h >> 14 & 1) != 0 ? 2 : 0;
    o->reference_compat = (h >> 15 & 7) == 0;
    o->delegate = (h >> 18 & 7) != 0;
    o->threads = 1;
}

static bool small(const struct nuc_model *m)
{
    struct nuc_tensor_info t;

    for (size_t i = 0; i < nuc_model_n_inputs(m); i++) {
        if (nuc_model_input(m, i, &t) != NUC_OK || t.bytes > MOST_BYTES)
            return false;
    }
    for (size_t i = 0; i < nuc_model_n_outputs(m); i++) {
        if (nuc_model_output(m, i, &t) != NUC_OK || t.bytes > MOST_BYTES)
            return false;
    }
    return true;
}

static void check_program(const uint8_t *bytes, size_t size)
{
    struct nuc_program_sizes sizes;
    uint8_t *copy = fuzz_copy(bytes, size);

    if (nuc_program_sizes(copy, size, &nuc_default_backends, &sizes, NULL) != NUC_OK)
        fuzz_broken("the runtime refuses what was compiled");
    free(copy);
}

static enum nuc_status compile(struct nuc_compiler *c, const char *path)
{
    struct nuc_model *m, *partitioned, *lowered;
    struct nuc_explain_result explained;
    const uint8_t *bytes;
    size_t size;
    enum nuc_status s = nuc_model_open(c, path, &m);

    if (s != NUC_OK)
        return s;
    if (!small(m))
        return NUC_NO_MEMORY;
    if (!nuc_model_is_quantized(m))
        return nuc_explain(m, NULL, &explained);
    s = nuc_partition(m, &partitioned);
    s = s != NUC_OK ? s : nuc_lower(partitioned, &lowered);
    s = s != NUC_OK ? s : nuc_program(lowered, &bytes, &size);
    if (s == NUC_OK)
        check_program(bytes, size);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nuc_options options;
    struct fuzz_budget budget;
    char path[64];
    int fd = fuzz_file(data, size, path);

    if (fd < 0)
        return 0;
    choose_options(&options, data, size);
    struct nuc_compiler *c = fuzz_compiler(&options, &budget, MEMORY);
    fuzz_compiler_verdict(c, compile(c, path));
    nuc_compiler_free(c);
    close(fd);
    return 0;
}
