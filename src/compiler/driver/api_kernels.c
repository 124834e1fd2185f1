/* Kernel selection files. */
#include "compiler/driver/driver.h"
#include "compiler/neutron/convert/kernel_selection.h"
#include "host/file.h"

struct merge_call {
    const char *const *inputs;
    size_t n_inputs;
    const char *output;
};

static void merge(struct nuc_context *cx, void *arg)
{
    const struct merge_call *call = arg;
    struct nuc_kernel_selection selection = {.used = {false}};

    for (size_t i = 0; i < call->n_inputs; i++)
        nuc_kernel_selection_read(cx, call->inputs[i], nuc_map_file(cx, call->inputs[i]), &selection);
    nuc_write_file(cx, call->output, nuc_kernel_selection_write(cx, &selection));
}

enum nuc_status nuc_merge_kernel_selections(struct nuc_compiler *c, const char *const *inputs, size_t n_inputs,
                                            const char *output)
{
    struct merge_call call = {inputs, n_inputs, output};

    return nuc_enter(c, merge, &call);
}

void nuc_write_kernel_selection(const struct nuc_model *lowered)
{
    struct nuc_compiler *c = lowered->c;
    struct nuc_kernel_selection selection = {.used = {false}};

    if (c->options.dump_kernel_selection == NULL)
        return;
    if (!c->report.runs_on_simulator)
        nuc_fail(c->cx, NUC_BAD_USAGE, "kernel selection: the programs are of another converter, which writes its own");
    for (size_t i = 0; i < nuc_model_n_partitions(lowered); i++)
        nuc_kernel_selection_add(&selection, lowered->lowered[i].image);
    nuc_write_file(c->cx, c->options.dump_kernel_selection, nuc_kernel_selection_write(c->cx, &selection));
}
