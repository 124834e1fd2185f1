/*
 * Bundled programs: what is read and written again is the same, the device finds the same program in them, and what
 * runs passes the self-test that is made of it.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/bundle.h"
#include "device/base/program_sum.h"
#include "fuzz_backend.h"
#include "fuzz_compiler.h"
#include "nucleon/runner.h"
#include "nucleon/selftest.h"

#define MEMORY ((size_t)64 << 20)
#define MOST_BYTES 65536

static void check_same(const struct nuc_bundle_tensor *a, const struct nuc_bundle_tensor *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].dtype != b[i].dtype || a[i].rank != b[i].rank || a[i].data.size != b[i].data.size ||
            memcmp(a[i].sizes, b[i].sizes, a[i].rank * sizeof a[i].sizes[0]) != 0 ||
            memcmp(a[i].dim_order, b[i].dim_order, a[i].rank) != 0 ||
            (a[i].data.size > 0 && memcmp(a[i].data.data, b[i].data.data, a[i].data.size) != 0))
            fuzz_broken("a bundle that is written again has other values");
    }
}

static void read_twice(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *file = arg;
    const struct nuc_bundle *a = nuc_bundle_read(cx, "input", *file);
    const struct nuc_bundle *b = nuc_bundle_read(cx, "again", nuc_bundle_write(cx, a));
    const void *image;
    size_t size;

    if (nuc_program_in_bundle(file->data, file->size, &image, &size) != NUC_OK || image != a->program.data ||
        size != a->program.size)
        fuzz_broken("the device finds another program in the bundle");
    if (a->n_cases != b->n_cases || strcmp(a->method, b->method) != 0 || a->program.size != b->program.size)
        fuzz_broken("a bundle that is written again is another one");
    for (uint32_t i = 0; i < a->n_cases; i++) {
        if (a->cases[i].n_inputs != b->cases[i].n_inputs || a->cases[i].n_outputs != b->cases[i].n_outputs)
            fuzz_broken("a bundle that is written again has other cases");
        check_same(a->cases[i].inputs, b->cases[i].inputs, a->cases[i].n_inputs);
        check_same(a->cases[i].outputs, b->cases[i].outputs, a->cases[i].n_outputs);
    }
}

/* As fuzz_run.c bounds it. */
static bool cheap(const struct nuc_span *file)
{
    struct nuc_program_sizes sizes;
    const void *image;
    size_t size, total;

    if (nuc_program_in_bundle(file->data, file->size, &image, &size) != NUC_OK ||
        (uintptr_t)image % NUC_MEMORY_ALIGNMENT != 0 ||
        nuc_program_sizes(image, size, &fuzz_backends, &sizes, NULL) != NUC_OK)
        return false;
    total = sizes.temporary;
    for (size_t i = 0; i < sizes.n_planned; i++) {
        if (sizes.planned[i] > MOST_BYTES)
            return false;
        total += sizes.planned[i];
    }
    return total <= 4 * MOST_BYTES && sizes.state <= 8 * MOST_BYTES && fuzz_program_is_short(image, size, &sizes);
}

static void say_nothing(const char *text)
{
    (void)text;
}

static bool has_same_sums(const struct nuc_selftest *a, const struct nuc_selftest *b)
{
    return a->n_checks == b->n_checks && a->n_checks > 0 &&
           memcmp(a->sums, b->sums, (size_t)a->n_cases * a->n_checks * sizeof *a->sums) == 0;
}

static enum nuc_status run(struct nuc_compiler *c, const struct nuc_span *file)
{
    const struct nuc_simulator_options plain = {NUC_SIMULATOR_PLAIN, 1};
    const struct nuc_selftest *t, *again;
    struct nuc_selftest_run test;
    struct nuc_case_result result;
    struct nuc_runner *r = NULL;
    enum nuc_status s = nuc_runner_open_bytes(c, "input", file->data, file->size, &plain, &r);

    for (size_t i = 0; s == NUC_OK && i < nuc_runner_n_cases(r); i++)
        s = nuc_runner_verify(r, i, &result);
    if (s == NUC_OK && nuc_runner_n_cases(r) > 0)
        s = nuc_runner_selftest(r, "input", &t);
    if (s == NUC_OK && nuc_runner_n_cases(r) > 0)
        s = nuc_runner_selftest(r, "input", &again);
    /* A damaged program may read memory that it has not written, and what the run before left there. */
    if (s == NUC_OK && nuc_runner_n_cases(r) > 0 && has_same_sums(t, again)) {
        nuc_selftest_begin(&test, t, say_nothing);
        nuc_simulator_watch(nuc_selftest_kernel, &test);
        nuc_selftest_program(&test, nuc_runner_program(r));
        nuc_simulator_watch(NULL, NULL);
        if (nuc_selftest_end(&test) != 0)
            fuzz_broken("a program does not pass its own self-test");
    }
    nuc_runner_close(r);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    struct nuc_span file = {copy, size};
    struct nuc_options options;
    struct fuzz_budget budget;
    struct fuzz_memory memory;
    const void *image;
    size_t image_size;

    if (nuc_program_in_bundle(copy, size, &image, &image_size) == NUC_OK && image != copy)
        nuc_program_seal((uint8_t *)(uintptr_t)image, image_size, nuc_crc32);
    struct nuc_context *cx = fuzz_context(&memory, MEMORY);
    enum nuc_status status = nuc_try(cx, read_twice, &file);
    fuzz_verdict(status == NUC_OK ? NULL : cx->message);
    nuc_context_free(cx);
    if (status == NUC_OK && cheap(&file)) {
        nuc_options_default(&options);
        options.threads = 1;
        struct nuc_compiler *c = fuzz_compiler(&options, &budget, MEMORY);
        fuzz_compiler_verdict(c, run(c, &file));
        nuc_compiler_free(c);
    }
    free(copy);
    return 0;
}
