#include "tools/project/samples.h"

#include "host/call.h"
#include "nucleon/runner.h"

struct job {
    struct nuc_compiler *c;
    struct nuc_runner *runner;
    struct nuc_dataset *data; /* NULL: zeros */
    const void **inputs;
    void **outputs;
};

static void keep(const struct job *j, struct nuc_pieces *pieces, bool input, size_t count)
{
    struct nuc_context *cx = nuc_context_of(j->c);

    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        const void *raw = nuc_runner_raw(j->runner, input, i, &bytes);
        nuc_add_piece(cx, pieces, (struct nuc_span){nuc_copy(cx, raw, bytes), bytes});
    }
}

void nuc_project_run(struct nuc_compiler *c, const char *program, const char *data, struct nuc_project_run *out)
{
    struct nuc_context *cx = nuc_context_of(c);
    struct job j = {.c = c};
    size_t n_samples = 1;

    *out = (struct nuc_project_run){.n_inputs = 0};
    nuc_check(cx, nuc_runner_open(c, program, NULL, &j.runner));
    out->n_inputs = nuc_runner_n_inputs(j.runner);
    out->n_outputs = nuc_runner_n_outputs(j.runner);
    if (data != NULL) {
        nuc_check(cx, nuc_dataset_open(c, data, &j.data));
        nuc_check(cx, nuc_runner_bind(j.runner, j.data, NULL, &n_samples));
    }
    out->states = nuc_runner_states_size(j.runner);
    /* Buffers in logical order; the program's own have what is kept. */
    struct nuc_tensor_info info;
    j.inputs = nuc_alloc_array(cx, out->n_inputs, sizeof *j.inputs);
    j.outputs = nuc_alloc_array(cx, out->n_outputs, sizeof *j.outputs);
    for (size_t i = 0; i < out->n_inputs; i++) {
        if (nuc_runner_input(j.runner, i, &info) != NUC_OK)
            nuc_fail(cx, NUC_UNSUPPORTED, "input %zu is not a tensor: a project takes tensors alone", i);
        j.inputs[i] = j.data == NULL ? nuc_alloc(cx, info.bytes) : NULL;
    }
    for (size_t i = 0; i < out->n_outputs; i++) {
        if (nuc_runner_output(j.runner, i, &info) != NUC_OK)
            nuc_fail(cx, NUC_UNSUPPORTED, "output %zu is not a tensor: a project takes tensors alone", i);
        j.outputs[i] = nuc_alloc(cx, info.bytes);
    }
    for (size_t k = 0; k < n_samples; k++) {
        if (j.data != NULL)
            nuc_check(cx, nuc_dataset_sample(j.data, k, j.inputs));
        if (j.data != NULL && k > 0 && nuc_dataset_begins(j.data, k))
            nuc_fail(cx, NUC_BAD_INPUT,
                     "%s: has more than one sequence, and the project's main.c runs its samples as one: give one",
                     data);
        nuc_check(cx, nuc_runner_run(j.runner, j.inputs, j.outputs));
        keep(&j, &out->inputs, true, out->n_inputs);
        keep(&j, &out->outputs, false, out->n_outputs);
    }
    nuc_runner_close(j.runner);
}
