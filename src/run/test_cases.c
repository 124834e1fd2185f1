#include "run/test_cases.h"

#include <math.h>
#include <string.h>

#include "archive/program_view.h"
#include "data/metadata.h"
#include "host/call.h"
#include "host/file.h"

#define MOST_CASES 1000

static struct nuc_context *context(const struct nuc_runner *r)
{
    return nuc_context_of(nuc_runner_compiler(r));
}

/* ---- verifying ---- */

size_t nuc_runner_n_cases(const struct nuc_runner *r)
{
    return nuc_runner_bundle(r) != NULL ? nuc_runner_bundle(r)->n_cases : 0;
}

static bool is_like(const struct nuc_bundle_tensor *a, const struct nuc_tensor *t)
{
    bool like = a->dtype == (enum nuc_dtype)t->dtype && a->rank == t->rank && a->data.size == t->bytes;

    for (uint32_t d = 0; like && d < a->rank; d++)
        like = a->sizes[d] == t->sizes[d] && a->dim_order[d] == t->dim_order[d];
    return like;
}

void nuc_give_case(struct nuc_runner *r, size_t index)
{
    const struct nuc_bundle_case *c = &nuc_runner_bundle(r)->cases[index];
    const struct nuc_program *p = nuc_runner_program(r);
    bool fits = c->n_inputs == nuc_program_n_inputs(p) && c->n_outputs == nuc_program_n_outputs(p);
    struct nuc_tensor t;

    for (uint32_t i = 0; fits && i < c->n_inputs; i++)
        fits = nuc_program_input_info(p, i, &t) == NUC_OK && is_like(&c->inputs[i], &t);
    for (uint32_t i = 0; fits && i < c->n_outputs; i++)
        fits = nuc_program_output_info(p, i, &t) == NUC_OK && is_like(&c->outputs[i], &t);
    if (!fits)
        nuc_fail(context(r), NUC_BAD_INPUT,
                 "test case %zu has other inputs or outputs than the program it is bundled with: bundle it again",
                 index);
    nuc_check(context(r), nuc_runner_reset(r));
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        size_t bytes;
        void *block = (void *)(uintptr_t)nuc_runner_raw(r, true, i, &bytes);
        if (bytes > 0)
            memcpy(block, c->inputs[i].data.data, bytes);
        if (nuc_program_set_input(nuc_runner_program(r), i, block, bytes, NULL) != NUC_OK)
            nuc_fail(context(r), NUC_UNSUPPORTED, "input %u of the program cannot be set", i);
    }
}

static void compare(const struct nuc_bundle_tensor *expected, const uint8_t *data, size_t output,
                    struct nuc_case_result *out)
{
    const size_t size = nuc_dtype_size(expected->dtype);

    for (size_t at = 0; at < expected->data.size; at += size) {
        out->n_elements++;
        if (memcmp(data + at, expected->data.data + at, size) == 0)
            continue;
        if (out->n_different++ > 0)
            continue;
        out->output = output;
        out->element = at / size;
        out->values = data;
        out->expected = expected->data.data;
    }
}

enum nuc_status nuc_runner_verify(struct nuc_runner *r, size_t index, struct nuc_case_result *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, context(r), __func__, out != NULL && index < nuc_runner_n_cases(r));
        struct nuc_program *p = nuc_runner_program(r);
        struct nuc_detail detail;
        const struct nuc_bundle_case *c = &nuc_runner_bundle(r)->cases[index];
        *out = (struct nuc_case_result){.n_different = 0};
        nuc_give_case(r, index);
        enum nuc_status status = nuc_program_execute(p, &detail);
        if (status != NUC_OK)
            nuc_fail(context(r), status, "test case %zu, instruction %d: %s", index, (int)detail.instruction,
                     detail.message != NULL ? detail.message : nuc_status_name(status));
        for (uint32_t i = 0; i < c->n_outputs; i++) {
            size_t bytes;
            compare(&c->outputs[i], nuc_runner_raw(r, false, i, &bytes), i, out);
        }
        out->passed = out->n_different == 0;
    }
    return nuc_leave(&call);
}

/* ---- writing ---- */

/* A sequence that is the same on every host: the upper half of a linear congruential generator. */
static double next_share(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 40) / (1 << 24);
}

/* Within the range of calibration where the program states it. Integers, which may be indices, are 0 or 1. */
static void make_up(const struct nuc_runner *r, size_t index, const struct nuc_tensor_info *t, uint64_t *state,
                    void *data)
{
    const struct nuc_metadata *m = nuc_runner_metadata(r);
    double least = m != NULL ? m->inputs[index].least : (double)NAN, most = m != NULL ? m->inputs[index].most : 0;
    const size_t size = nuc_dtype_size(t->dtype);

    if (!(least <= most))
        least = 0, most = 1;
    for (size_t at = 0; at < t->bytes; at += size) {
        const double share = next_share(state);
        const float value = (float)(least + share * (most - least));
        uint8_t *to = (uint8_t *)data + at;
        if (t->dtype == NUC_F32)
            memcpy(to, &value, sizeof value);
        else if (t->dtype == NUC_I8 || t->dtype == NUC_U8)
            *to = (uint8_t)(share * 256);
        else if (t->dtype == NUC_BOOL || t->dtype == NUC_I16 || t->dtype == NUC_I32 || t->dtype == NUC_I64)
            *to = share >= 0.5;
    }
}

static const struct nuc_bundle_tensor *keep(struct nuc_runner *r, bool input, uint32_t count)
{
    struct nuc_context *cx = context(r);
    struct nuc_bundle_tensor *list = nuc_alloc_array(cx, (size_t)count + 1, sizeof *list);

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_tensor t;
        size_t bytes;
        if ((input ? nuc_program_input_info(nuc_runner_program(r), i, &t)
                   : nuc_program_output_info(nuc_runner_program(r), i, &t)) != NUC_OK)
            nuc_fail(cx, NUC_UNSUPPORTED, "%s %u is not a tensor: a self-test takes tensors alone",
                     input ? "input" : "output", i);
        const void *data = nuc_runner_raw(r, input, i, &bytes);
        list[i] = (struct nuc_bundle_tensor){
            .dtype = (enum nuc_dtype)t.dtype, .rank = t.rank, .data = {nuc_copy(cx, data, bytes), bytes}};
        memcpy(list[i].sizes, t.sizes, t.rank * sizeof t.sizes[0]);
        memcpy(list[i].dim_order, t.dim_order, t.rank);
    }
    return list;
}

struct writing {
    struct nuc_runner *r;
    struct nuc_dataset *data;
    const void **inputs;
    void **outputs;
    uint64_t state;
};

static void *room(const struct nuc_runner *r, bool input, size_t index)
{
    struct nuc_tensor_info info;

    if ((input ? nuc_runner_input(r, index, &info) : nuc_runner_output(r, index, &info)) != NUC_OK)
        nuc_fail(context(r), NUC_UNSUPPORTED, "%s %zu is not a tensor: a self-test takes tensors alone",
                 input ? "input" : "output", index);
    return nuc_alloc(context(r), info.bytes);
}

static void write_bundle(struct writing *w, const struct nuc_model *named_after, size_t most, const char *path)
{
    struct nuc_runner *r = w->r;
    struct nuc_context *cx = context(r);
    const uint32_t n_inputs = (uint32_t)nuc_runner_n_inputs(r), n_outputs = (uint32_t)nuc_runner_n_outputs(r);
    size_t n_samples = most;

    if (w->data != NULL)
        nuc_check(cx, nuc_runner_bind(r, w->data, named_after, &n_samples));
    else
        nuc_warn(cx, "%s: there are no samples: the inputs of its self-test are made up", path);
    w->inputs = nuc_alloc_array(cx, n_inputs, sizeof *w->inputs);
    w->outputs = nuc_alloc_array(cx, n_outputs, sizeof *w->outputs);
    for (uint32_t i = 0; i < n_inputs; i++)
        w->inputs[i] = room(r, true, i);
    for (uint32_t i = 0; i < n_outputs; i++)
        w->outputs[i] = room(r, false, i);
    const size_t n_cases = n_samples < most ? n_samples : most;
    struct nuc_bundle_case *cases = nuc_alloc_array(cx, n_cases + 1, sizeof *cases);
    for (size_t i = 0; i < n_cases; i++) {
        cases[i] = (struct nuc_bundle_case){.n_inputs = n_inputs, .n_outputs = n_outputs};
        struct nuc_tensor_info info;
        for (uint32_t k = 0; w->data == NULL && k < n_inputs; k++) {
            nuc_check(cx, nuc_runner_input(r, k, &info));
            make_up(r, k, &info, &w->state, (void *)(uintptr_t)w->inputs[k]);
        }
        if (w->data != NULL)
            nuc_check(cx, nuc_dataset_sample(w->data, i * n_samples / n_cases, w->inputs));
        nuc_check(cx, nuc_runner_reset(r));
        nuc_check(cx, nuc_runner_run(r, w->inputs, w->outputs));
        cases[i].inputs = keep(r, true, n_inputs);
        cases[i].outputs = keep(r, false, n_outputs);
    }
    struct nuc_bundle b = {.n_cases = (uint32_t)n_cases, .cases = cases};
    b.program.data = nuc_runner_image(r, &b.program.size);
    b.method = nuc_view_text(cx, nuc_program_view_open(cx, path, b.program)->methods[0].name);
    nuc_write_file(cx, path, nuc_bundle_write(cx, &b));
}

enum nuc_status nuc_runner_write_bundle(struct nuc_runner *r, struct nuc_dataset *data,
                                        const struct nuc_model *named_after, size_t n_cases, const char *path)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), __func__, path != NULL && n_cases > 0);
        if (n_cases > MOST_CASES)
            nuc_fail(context(r), NUC_BAD_USAGE, "--self-test %zu: at most %d cases", n_cases, MOST_CASES);
        write_bundle(&(struct writing){.r = r, .data = data, .state = 37}, named_after, n_cases, path);
    }
    return nuc_leave(&call);
}
