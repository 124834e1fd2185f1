/*
 * Tensors at the boundary of a delegate: which dim orders the payload's formats take, what is transposed, and what is
 * refused. The program on the NPU takes the magnitude of each value, whatever its place.
 */
#include "arrange_net.h"

#include "npu/container/payload.h"
#include "nucleon/runtime.h"

#define BYTES 120

struct boundary {
    const char *name;
    uint8_t format;
    uint8_t rank;
    int32_t sizes[5];
    uint8_t dim_order[5];
    bool refused;
};

static const struct boundary boundaries_of_payloads[] = {
    {"format 1, channels-last", 1, 4, {2, 3, 4, 5}, {0, 2, 3, 1}, false},
    {"format 1, contiguous", 1, 4, {2, 3, 4, 5}, {0, 1, 2, 3}, false},
    {"format 1, N H C W", 1, 4, {2, 3, 4, 5}, {0, 2, 1, 3}, true},
    {"format 1, one channel, contiguous", 1, 4, {6, 1, 4, 5}, {0, 1, 2, 3}, false},
    {"format 1, one channel, channels-last", 1, 4, {6, 1, 4, 5}, {0, 2, 3, 1}, true},
    {"format 1, one channel, N H C W", 1, 4, {6, 1, 4, 5}, {0, 2, 1, 3}, true},
    {"format 1, rank 5, channels-last", 1, 5, {1, 2, 3, 4, 5}, {0, 2, 3, 4, 1}, false},
    {"format 1, rank 5, contiguous", 1, 5, {1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}, false},
    {"format 1, rank 5, another order", 1, 5, {1, 2, 3, 4, 5}, {0, 1, 3, 4, 2}, true},
    {"format 1, rank 3, contiguous", 1, 3, {6, 4, 5}, {0, 1, 2}, false},
    {"format 1, rank 3, channels-last", 1, 3, {6, 4, 5}, {0, 2, 1}, true},
    {"format 1, rank 2", 1, 2, {24, 5}, {0, 1}, true},
    {"format 1, rank 1", 1, 1, {120}, {0}, true},
    {"format 0, contiguous", 0, 4, {2, 3, 4, 5}, {0, 1, 2, 3}, false},
    {"format 0, channels-last", 0, 4, {2, 3, 4, 5}, {0, 2, 3, 1}, true},
    {"format 0, N H C W", 0, 4, {2, 3, 4, 5}, {0, 2, 1, 3}, true},
    {"format 0, one channel, channels-last", 0, 4, {6, 1, 4, 5}, {0, 2, 3, 1}, true},
    {"format 0, rank 2", 0, 2, {24, 5}, {0, 1}, false},
    {"format 0, rank 2, transposed", 0, 2, {24, 5}, {1, 0}, true},
};

/* A payload that takes and gives 120 bytes. */
static struct nuc_span payload_of(struct nuc_context *cx, uint8_t input_format, uint8_t output_format)
{
    struct nuc_ltb *d = nuc_ltb_new(cx, "abs");
    int32_t x = value(d, "x", LIST(BYTES)), y = unary(d, NUC_LT_ABS, x);
    struct nuc_payload_io io[2] = {{input_format, 0}, {output_format, 0}};

    boundaries(d->model, &x, 1, &y, 1);
    struct nuc_neutron_image *image = nuc_convert_litert(cx, d->model, NULL);
    struct nuc_payload p = {.n_inputs = 1,
                            .n_outputs = 1,
                            .n_args = 1,
                            .version = 1,
                            .inputs = &io[0],
                            .outputs = &io[1],
                            .microcode = image->microcode,
                            .weights = image->weights,
                            .kernels = image->kernels};
    return nuc_payload_compose(cx, &p);
}

static struct nuc_value tensor_of(const struct boundary *b, int8_t *data)
{
    struct nuc_value v = {.kind = NUC_VALUE_TENSOR};

    v.u.tensor = (struct nuc_tensor){.data = data,
                                     .sizes = (int32_t *)(uintptr_t)b->sizes,
                                     .dim_order = (uint8_t *)(uintptr_t)b->dim_order,
                                     .bytes = BYTES,
                                     .dtype = NUC_I8,
                                     .rank = b->rank,
                                     .planned = true};
    return v;
}

/* Runs with these two tensors at the boundaries. */
static enum nuc_status run_delegate(struct nuc_context *cx, const struct boundary *in, const struct boundary *out,
                                    int8_t *from, int8_t *to, struct nuc_detail *detail)
{
    struct nuc_span span = payload_of(cx, in->format, out->format);
    uint8_t *payload = aligned(span.data, span.size);
    struct nuc_backend_sizes sizes;
    struct nuc_value values[2] = {tensor_of(in, from), tensor_of(out, to)};
    struct nuc_value *args[2] = {&values[0], &values[1]};

    assert_int_equal(nuc_neutron_backend.sizes(payload, span.size, &sizes, detail), NUC_OK);
    for (size_t i = 0; i < 2; i++)
        sizes.temporary += nuc_neutron_backend.argument_bytes(payload, span.size, i, &values[i].u.tensor);
    uint8_t *state = aligned(NULL, sizes.state), *temporary = aligned(NULL, sizes.temporary);
    memset(state, 0, sizes.state);
    assert_int_equal(nuc_neutron_backend.load(state, payload, span.size, detail), NUC_OK);
    struct nuc_kernel_context kernel = {.temporary = temporary, .temporary_size = sizes.temporary, .detail = detail};
    enum nuc_status status = nuc_neutron_backend.run(state, &kernel, args, 2);
    if (nuc_neutron_backend.unload != NULL)
        nuc_neutron_backend.unload(state);
    free(payload);
    free(state);
    free(temporary);
    return status;
}

static void check_boundary(struct nuc_context *cx, const struct boundary *in, const struct boundary *out, bool refused)
{
    int8_t *from = aligned(NULL, BYTES), *to = aligned(NULL, BYTES);
    struct nuc_detail detail = {.message = NULL};

    for (int i = 0; i < BYTES; i++)
        from[i] = (int8_t)(3 - 60 + i); /* zero point 3 */
    enum nuc_status status = run_delegate(cx, in, out, from, to, &detail);
    if ((status != NUC_OK) != refused)
        fail_msg("%s and %s: %s", in->name, out->name, nuc_status_name(status));
    if (refused)
        assert_string_equal(detail.message, "a tensor's dim order is not what the payload's format asks for");
    /* Both sides are transposed or neither is: each value stays in its place. */
    for (int i = 0; i < BYTES && !refused && in == out; i++)
        assert_int_equal(to[i], 3 + abs(i - 60));
    free(from);
    free(to);
}

static void every_boundary(void **state)
{
    static const struct boundary plain = {"format 0, rank 1", 0, 1, {BYTES}, {0}, false};

    for (size_t i = 0; i < sizeof boundaries_of_payloads / sizeof boundaries_of_payloads[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        const struct boundary *b = &boundaries_of_payloads[i];
        check_boundary(cx, b, &plain, b->refused);
        check_boundary(cx, &plain, b, b->refused);
        check_boundary(cx, b, b, b->refused);
        nuc_context_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_boundary),
    };

    neutronInit();
    return cmocka_run_group_tests_name("boundaries", tests, NULL, NULL);
}
