/*
 * The converter: merging never changes a byte, the scratch plan never overlaps, what has no kernel is refused by name.
 * A network is run twice, once as it is and once with every intermediate given out, which forbids all merging.
 */
#include "arrange_net.h"
#include "contexts.h"
#include "random.h"

#include "npu/container/disassemble.h"

/* ---- models ---- */

static uint32_t seed; /* of the network at hand */

static struct nuc_ltb *net_new(struct nuc_context *cx, uint32_t first)
{
    struct nuc_ltb *d = nuc_ltb_new(cx, "net");
    int32_t shape[4] = {1};

    seed = first;
    for (uint32_t i = 1; i < 4; i++)
        shape[i] = i == 3 ? random_in(&seed, 1, 6) : random_in(&seed, 5, 9);
    int32_t x = value(d, "x", shape, 4);
    nuc_ltb_at(d, x)->quant = parameters(cx, 0.05f, random_in(&seed, -128, 127));
    set_boundaries(d->model, x, x);
    return d;
}

/* Gives out the last tensor, or all that operators compute. */
static void set_outputs(struct nuc_ltb *d, bool all)
{
    struct nuc_lt_subgraph *g = nuc_ltb_graph(d);

    g->n_outputs = all ? g->n_ops : 1;
    g->outputs = nuc_alloc_array(d->cx, g->n_outputs, sizeof *g->outputs);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        g->outputs[i] = g->ops[all ? i : g->n_ops - 1].outputs[0];
}

static struct nuc_neutron_image *converted(struct nuc_ltb *d)
{
    set_outputs(d, false);
    return nuc_convert_litert(d->cx, d->model, NULL);
}

static struct nuc_lt_op *last_op(struct nuc_ltb *d)
{
    return &nuc_ltb_graph(d)->ops[nuc_ltb_graph(d)->n_ops - 1];
}

static int32_t zero_point(struct nuc_ltb *d, int32_t x)
{
    return (int32_t)nuc_ltb_at(d, x)->quant.zero_point[0];
}

static struct nuc_lt_quant random_parameters(struct nuc_ltb *d, float scale)
{
    return parameters(d->cx, scale, random_in(&seed, -128, 127));
}

static void fill(struct nuc_ltb *d, int32_t constant)
{
    int8_t *bytes = nuc_alloc(d->cx, size_of(d, constant));

    for (size_t i = 0; i < size_of(d, constant); i++)
        bytes[i] = (int8_t)random_in(&seed, -128, 127);
    nuc_ltb_at(d, constant)->data.data = (const uint8_t *)bytes;
}

static int32_t add_pad(struct nuc_ltb *d, int32_t x, int32_t fill)
{
    const int32_t two[2] = {4, 2};
    struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t pads[8] = {0}, one = constant(d, LIST(1));

    for (uint32_t i = 2; i < 6; i++) {
        pads[i] = random_in(&seed, 0, 2);
        t.shape[i / 2] += pads[i];
    }
    nuc_ltb_at(d, one)->data.data = nuc_copy(d->cx, &(int8_t){(int8_t)fill}, 1);
    nuc_ltb_at(d, one)->quant = t.quant;
    int32_t inputs[3] = {x, nuc_ltb_constant(d, "pads", NUC_I32, two, 2, pads), one};
    int32_t y = shaped(d, "pad", x, t.shape, 4);
    nuc_ltb_op(d, NUC_LT_PADV2, inputs, 3, y);
    return y;
}

static enum nuc_lt_activation random_activation(void)
{
    return (enum nuc_lt_activation)random_in(&seed, NUC_LT_ACT_NONE, NUC_LT_ACT_RELU6);
}

/* A convolution to some channels of a quantization. */
static int32_t add_conv(struct nuc_ltb *d, int32_t x, int32_t k, int32_t out_c, struct nuc_lt_quant quant)
{
    int32_t *bias = nuc_alloc_array(d->cx, (size_t)out_c, sizeof *bias);

    for (int32_t i = 0; i < out_c; i++)
        bias[i] = random_in(&seed, -3000, 3000);
    int32_t c = nuc_ltb_constant(d, "bias", NUC_I32, &out_c, 1, bias), y = convolved_with(d, x, k, out_c, c);
    nuc_ltb_at(d, c)->quant = parameters(d->cx, 0.0005f, 0);
    nuc_ltb_at(d, y)->quant = quant;
    fill(d, last_op(d)->inputs[1]);
    return y;
}

static int32_t random_conv(struct nuc_ltb *d, int32_t x)
{
    const int32_t height = nuc_ltb_at(d, x)->shape[1], width = nuc_ltb_at(d, x)->shape[2];
    int32_t k = height > 2 && width > 2 ? random_in(&seed, 1, 3) : 1, out_c = random_in(&seed, 1, 6);
    int32_t y = add_conv(d, x, k, out_c, random_parameters(d, 0.1f));

    last_op(d)->options.conv.activation = random_activation();
    return y;
}

/* Of one tap. */
static int32_t add_pointwise(struct nuc_ltb *d, int32_t x, int32_t out_c, struct nuc_lt_quant quant)
{
    return add_conv(d, x, 1, out_c, quant);
}

static int32_t add_pool(struct nuc_ltb *d, int32_t code, int32_t x)
{
    const int32_t *shape = nuc_ltb_at(d, x)->shape;
    int32_t y = pooled_with(d, code, x, shape[1] > 1 && shape[2] > 1 ? 2 : 1);

    last_op(d)->options.pool.activation = random_activation();
    return y;
}

/* A function of one value in some quantization. */
static int32_t function(struct nuc_ltb *d, int32_t code, int32_t x, struct nuc_lt_quant quant)
{
    int32_t y = unary(d, code, x);

    nuc_ltb_at(d, y)->quant = quant;
    return y;
}

/* Half the time with the quantization of its input, when it may become a clamp. */
static int32_t random_function(struct nuc_ltb *d, int32_t code, int32_t x)
{
    bool same = next_random(&seed) % 2;

    return function(d, code, x, same ? nuc_ltb_at(d, x)->quant : random_parameters(d, 0.07f));
}

static int32_t add_elementwise(struct nuc_ltb *d, int32_t code, int32_t a, int32_t b, struct nuc_lt_quant quant)
{
    int32_t y = like(d, a);

    nuc_ltb_at(d, y)->quant = quant;
    nuc_ltb_op(d, code, (const int32_t[]){a, b}, 2, y);
    return y;
}

static int32_t add_scalar(struct nuc_ltb *d, int32_t code, int32_t x)
{
    const struct nuc_lt_quant quant = nuc_ltb_at(d, x)->quant;
    bool adds = code == NUC_LT_ADD;
    int32_t one = constant(d, LIST(1));

    fill(d, one);
    nuc_ltb_at(d, one)->quant = adds ? parameters(d->cx, 0.02f, 3) : quant;
    return add_elementwise(d, code, x, one, adds ? parameters(d->cx, 0.06f, -7) : quant);
}

/* [1, H, W, C] to [1, W, H, C] by a reshape: the bytes stay. */
static int32_t add_reshape(struct nuc_ltb *d, int32_t x)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(d, x);

    return reshaped(d, x, LIST(t.shape[0], t.shape[2], t.shape[1], t.shape[3]));
}

static int32_t add_transpose(struct nuc_ltb *d, int32_t x)
{
    return permuted(d, x, LIST(0, 2, 1, 3));
}

static int32_t add_mean(struct nuc_ltb *d, int32_t x, struct nuc_lt_quant quant)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t axes = nuc_ltb_list(d, "axes", LIST(1, 2)), y = shaped(d, "mean", x, LIST(1, 1, 1, t.shape[3]));

    nuc_ltb_at(d, y)->quant = quant;
    nuc_ltb_op(d, NUC_LT_MEAN, (const int32_t[]){x, axes}, 2, y)->options.reduce.keep_dims = true;
    return y;
}

/* ---- branches ---- */

/* The tensor's values with another quantization. */
static int32_t add_requantized(struct nuc_ltb *d, int32_t x, struct nuc_lt_quant quant)
{
    return function(d, NUC_LT_QUANTIZE, x, quant);
}

/* A part of a concatenation: other values of x in the quantization all parts share. */
static int32_t add_part(struct nuc_ltb *d, int32_t x, int32_t axis, struct nuc_lt_quant quant)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t part = add_requantized(d, x, quant);

    switch (next_random(&seed) % 6) {
    case 0:
        return add_elementwise(d, NUC_LT_ADD, part, add_requantized(d, x, parameters(d->cx, 0.09f, 4)), quant);
    case 1:
        return add_elementwise(d, NUC_LT_MUL, part, part, quant);
    case 2:
        return add_pointwise(d, x, axis == 3 ? random_in(&seed, 1, 4) : t.shape[3], quant);
    case 3:
        return sliced(d, part, axis, 0, (t.shape[axis] + 1) / 2);
    case 4:
        return unary(d, NUC_LT_RELU, part);
    default:
        return part;
    }
}

/* The same values under another name. */
static int32_t add_whole(struct nuc_ltb *d, int32_t x)
{
    return sliced(d, x, 1, 0, nuc_ltb_at(d, x)->shape[1]);
}

/* The last part twice, under one name or two. */
static int32_t repeat_part(struct nuc_ltb *d, int32_t *last)
{
    if (next_random(&seed) % 2)
        return *last;
    int32_t name = add_whole(d, *last);
    *last = add_whole(d, name);
    return name;
}

/* Parts along an axis, some listed twice, some read by others too; then perhaps nested in another concatenation. */
static int32_t add_branches(struct nuc_ltb *d, int32_t x)
{
    int32_t axis = random_in(&seed, 1, 3), parts[4];
    uint32_t count = (uint32_t)random_in(&seed, 2, 3);
    struct nuc_lt_quant quant = random_parameters(d, 0.06f);

    for (uint32_t i = 0; i < count; i++)
        parts[i] = i > 0 && next_random(&seed) % 6 == 0 ? repeat_part(d, &parts[i - 1]) : add_part(d, x, axis, quant);
    int32_t y = all_joined(d, parts, count, axis);
    if (next_random(&seed) % 2)
        y = joined(d, y, sliced(d, y, axis, random_in(&seed, 0, 1), 1), axis);
    if (next_random(&seed) % 2)
        y = add_elementwise(d, NUC_LT_ADD, y, add_requantized(d, y, quant), quant);
    int32_t size = nuc_ltb_at(d, y)->shape[axis];
    return sliced(d, y, axis, 0, size < 12 ? size : 12);
}

static int32_t add_product(struct nuc_ltb *d, int32_t a, int32_t b)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(d, a);
    int32_t y = shaped(d, "product", a, LIST(t.shape[0], t.shape[1], t.shape[2], nuc_ltb_at(d, b)->shape[3]));

    nuc_ltb_op(d, NUC_LT_BATCH_MATMUL, (const int32_t[]){a, b}, 2, y);
    return y;
}

/* The values along one dimension, those from `at` on first. */
static int32_t rolled(struct nuc_ltb *d, int32_t x, int32_t axis, int32_t at)
{
    const int32_t size = nuc_ltb_at(d, x)->shape[axis];

    return joined(d, sliced(d, x, axis, at, size - at), sliced(d, x, axis, 0, at), axis);
}

static void random_order(int32_t order[4])
{
    for (int32_t i = 0; i < 4; i++) {
        int32_t k = random_in(&seed, 0, i);
        order[i] = order[k];
        order[k] = i;
    }
}

/*
 * Products of two heads, of which each dimension may be anywhere, in the operands and in the result. The right operand
 * may be one matrix for all, and be said to be turned.
 */
static int32_t add_heads(struct nuc_ltb *d, int32_t x)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    const int32_t size = random_in(&seed, 1, 3);
    int32_t all = add_pointwise(d, x, 4 * size, random_parameters(d, 0.06f)), parts[2], order[4];
    const bool merges = next_random(&seed) % 2, repeats = next_random(&seed) % 4 == 0;
    const bool turns = next_random(&seed) % 3 == 0;

    random_order(order);
    for (int32_t k = 0; k < 2; k++) {
        const int32_t swap = k == 1 && !turns;
        int32_t part = reshaped(d, sliced(d, all, 3, 2 * size * k, 2 * size), LIST(t.shape[1], t.shape[2], 2, size));
        if (next_random(&seed) % 3 == 0)
            part = add_transpose(d, add_transpose(d, part));
        part = permuted(d, part, LIST(order[0], order[1], order[2 + swap], order[3 - swap]));
        if (k == 1 && repeats)
            part = sliced(d, sliced(d, part, 0, 0, 1), 1, 0, 1);
        const struct nuc_lt_tensor p = *nuc_ltb_at(d, part);
        parts[k] = merges ? reshaped(d, part, LIST(1, p.shape[0] * p.shape[1], p.shape[2], p.shape[3])) : part;
    }
    int32_t y = add_product(d, parts[0], parts[1]);
    if (turns) {
        last_op(d)->options.batch_matmul.adj_y = true;
        nuc_ltb_at(d, y)->shape[3] = nuc_ltb_at(d, parts[1])->shape[2];
    }
    if (next_random(&seed) % 3 == 0)
        y = random_function(d, NUC_LT_RELU, softmax(d, y));
    struct nuc_lt_tensor r = *nuc_ltb_at(d, y);
    if (next_random(&seed) % 2)
        y = reshaped(d, y, LIST(r.shape[1], r.shape[0], r.shape[2], r.shape[3]));
    random_order(order);
    y = permuted(d, y, order, 4);
    r = *nuc_ltb_at(d, y);
    y = reshaped(d, y, LIST(1, r.shape[0] * r.shape[1], r.shape[2], r.shape[3]));
    for (int32_t axis = 1; axis < 4; axis++)
        y = sliced(d, y, axis, 0, nuc_ltb_at(d, y)->shape[axis] < 9 ? nuc_ltb_at(d, y)->shape[axis] : 9);
    return y;
}

/* Rolled along one dimension or two. */
static int32_t add_rolls(struct nuc_ltb *d, int32_t x)
{
    for (int32_t n = random_in(&seed, 1, 3); n > 0; n--) {
        int32_t axis = random_in(&seed, 1, 3), size = nuc_ltb_at(d, x)->shape[axis];
        if (size > 1)
            x = rolled(d, x, axis, random_in(&seed, 1, size - 1));
    }
    return x;
}

static int32_t add_random(struct nuc_ltb *d, int32_t x)
{
    int32_t zero = zero_point(d, x);

    switch (next_random(&seed) % 18) {
    case 0:
        return add_pad(d, x, next_random(&seed) % 2 ? zero : -128);
    case 1:
    case 2:
        return random_conv(d, add_pad(d, x, zero));
    case 3:
        return random_conv(d, x);
    case 4:
        return add_pool(d, NUC_LT_MAX_POOL_2D, add_pad(d, x, -128));
    case 5:
        return add_pool(d, NUC_LT_AVERAGE_POOL_2D, add_pad(d, x, random_in(&seed, -128, 127)));
    case 6:
        return random_function(d, NUC_LT_RELU, x);
    case 7:
        return random_function(d, next_random(&seed) % 2 ? NUC_LT_RELU6 : NUC_LT_RELU_N1_TO_1, x);
    case 8:
        return random_function(d, next_random(&seed) % 2 ? NUC_LT_QUANTIZE : NUC_LT_LEAKY_RELU, x);
    case 9:
        return add_scalar(d, next_random(&seed) % 2 ? NUC_LT_MAXIMUM : NUC_LT_ADD, x);
    case 10:
        return add_reshape(d, x);
    case 11:
    case 12:
    case 13:
        return add_branches(d, x);
    case 14:
    case 15:
        return add_heads(d, x);
    case 16:
        return add_rolls(d, x);
    default:
        return add_transpose(d, x);
    }
}

static struct nuc_ltb *random_net(struct nuc_context *cx, uint32_t first)
{
    struct nuc_ltb *d = net_new(cx, first);
    int32_t steps = random_in(&seed, 2, 8), x = 0;

    for (int32_t i = 0; i < steps; i++)
        x = add_random(d, x);
    return d;
}

/* ---- running ---- */

/* Copies as a mover does them: the bytes are there after wait(), and until then others. One request a channel. */
static struct {
    void *to, *from;
    uint32_t size;
} requests[NUC_MC_CHANNELS];

static void start_copy(void *to, void *from, uint32_t size, uint32_t channel)
{
    memset(to, 0x5A, size);
    requests[channel].to = to;
    requests[channel].from = from;
    requests[channel].size = size;
}

static void end_copy(uint32_t channel)
{
    memcpy(requests[channel].to, requests[channel].from, requests[channel].size);
}

/* Calls when each operator is one, and each operand of a concatenation. */
static uint32_t separate_calls(const struct nuc_ltb *d)
{
    const struct nuc_lt_subgraph *g = nuc_ltb_graph(d);
    uint32_t calls = g->n_ops;

    for (uint32_t i = 0; i < g->n_ops; i++)
        calls += g->ops[i].code == NUC_LT_CONCATENATION ? g->ops[i].n_inputs - 1 : 0;
    return calls;
}

static void expect_same(struct nuc_span a, struct nuc_span b)
{
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
}

/* ---- weights in flash ---- */

static uint32_t version_of(const struct nuc_neutron_image *image)
{
    return nuc_load_u32(image->microcode.data + 4 * NUC_MC_WORD_VERSION);
}

struct random_case {
    uint32_t seed, found; /* what the check counts */
};

/* Returns what was found in networks of that many seeds. */
static uint32_t check_seeds(void (*check)(struct nuc_context *cx, void *arg), uint32_t count)
{
    struct random_case c = {0, 0};

    for (c.seed = 1; c.seed <= count; c.seed++)
        run_in_context(check, &c);
    return c.found;
}

static void compare_fetched(struct nuc_context *cx, void *arg)
{
    struct random_case *c = arg;
    struct nuc_ltb *d = random_net(cx, c->seed);
    const struct nuc_convert_options fetch = {.fetch_constants = true};
    struct nuc_neutron_image *plain = converted(d), *fetched = nuc_convert_litert(cx, d->model, &fetch);

    expect_same(run_image(d, plain), run_image(d, fetched));
    assert_int_equal(plain->staging_size, 0);
    assert_int_equal(fetched->scratch_size, plain->scratch_size);
    assert_true(fetched->staging_size <= nuc_align_up(fetched->weights.size, NUC_MC_ALIGNMENT));
    assert_int_equal(fetched->staging_size > 0, fetched->n_calls > plain->n_calls);
    c->found += fetched->staging_size > 0;
}

/* Weights that are copied while other calls compute give the same bytes. */
static void fetching_keeps_bytes(void **state)
{
    const NeutronConfig copies = {start_copy, end_copy};
    const NeutronConfig none = {NULL, NULL};

    assert_int_equal(neutronSetConfig((NeutronConfig *)(uintptr_t)&copies), ENONE);
    assert_true(check_seeds(compare_fetched, 200) > 100);
    assert_int_equal(neutronSetConfig((NeutronConfig *)(uintptr_t)&none), ENONE);
}

/* A layer with many weights in front of others is fetched two nodes ahead, to the same buffer: a DMA is waited for
 * less. */
static void fetching_begins_early(struct nuc_context *cx, void *arg)
{
    static const int32_t channels[] = {8, 8, 16, 128, 256, 256, 256};
    const struct nuc_convert_options early = {.fetch_constants = true},
                                     late = {.fetch_constants = true, .revision_3 = true};
    const NeutronConfig copies = {start_copy, end_copy}, none = {NULL, NULL};
    struct nuc_ltb *d = net_new(cx, 3);
    int32_t last = 0;

    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        last = add_pointwise(d, last, channels[i], parameters(cx, 0.06f, 3));
    set_outputs(d, false);
    struct nuc_neutron_image *a = nuc_convert_litert(cx, d->model, &early);
    struct nuc_neutron_image *b = nuc_convert_litert(cx, d->model, &late);
    assert_int_equal(neutronSetConfig((NeutronConfig *)(uintptr_t)&copies), ENONE);
    expect_same(run_image(d, a), run_image(d, b));
    assert_int_equal(neutronSetConfig((NeutronConfig *)(uintptr_t)&none), ENONE);
    assert_int_equal(a->staging_size, b->staging_size);
    assert_int_equal(a->fetches.bytes, b->fetches.bytes);
    assert_int_equal(a->fetches.cycles, b->fetches.cycles);
    assert_true(a->fetches.dma_cycles < b->fetches.dma_cycles);
    assert_int_equal(version_of(a), NUC_MC_VERSION_5);
    assert_int_equal(version_of(b), NUC_MC_VERSION_3);
}

static void compare_merged(struct nuc_context *cx, void *arg)
{
    struct random_case *c = arg;
    struct nuc_ltb *d = random_net(cx, c->seed);
    struct nuc_neutron_image *merged = converted(d), *separate;
    struct nuc_span last = run_image(d, merged), all;

    set_outputs(d, true);
    separate = nuc_convert_litert(cx, d->model, NULL);
    all = run_image(d, separate);
    expect_same(last, (struct nuc_span){all.data + all.size - last.size, last.size});
    assert_int_equal(separate->n_calls, separate_calls(d));
    assert_true(merged->n_calls <= separate->n_calls);
    assert_true(merged->scratch_size >= merged->scratch_bound);
    c->found += separate->n_calls - merged->n_calls;
}

static void merging_keeps_bytes(void **state)
{
    assert_true(check_seeds(compare_merged, 400) > 400);
}

/* pad, conv, relu of one quantization, reshape: one call. */
static void one_call(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 5);
    const struct nuc_neutron_image **image = arg;

    add_reshape(d, unary(d, NUC_LT_RELU6, random_conv(d, add_pad(d, 0, zero_point(d, 0)))));
    *image = converted(d);
}

static void whole_block_is_one_call(void **state)
{
    struct nuc_context *cx = *state;
    const struct nuc_neutron_image *image = NULL;
    struct nuc_text text = {.cx = cx};

    assert_int_equal(nuc_try(cx, one_call, &image), NUC_OK);
    assert_int_equal(image->n_calls, 1);
    assert_string_equal(image->calls[0].opcode, "CONV_2D");
    assert_int_equal(image->calls[0].lt_op, 1);
    assert_int_equal(image->scratch_size, 0);
    nuc_disassemble(&text, image->microcode);
    assert_non_null(strstr(nuc_text_string(&text), "call 0: CONV_2D, LiteRT operator 1"));
    assert_null(strstr(nuc_text_string(&text), "broken"));
}

/* ---- refusals ---- */

static bool has_call(const struct nuc_neutron_image *image, const char *opcode)
{
    for (uint32_t i = 0; i < image->n_calls; i++) {
        if (strcmp(image->calls[i].opcode, opcode) == 0)
            return true;
    }
    return false;
}

/* Two convolutions write their channels of the concatenation, whose buffer is all the scratch there is. */
static void concat_of_two(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 6);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);
    size_t pixels = size_of(d, 0) / (size_t)nuc_ltb_at(d, 0)->shape[3];

    int32_t a = add_pointwise(d, 0, 4, quant), b = add_pointwise(d, 0, 3, quant);
    add_pointwise(d, joined(d, a, b, 3), 2, quant);
    const struct nuc_neutron_image *image = converted(d);
    assert_int_equal(image->n_calls, 3);
    assert_false(has_call(image, "COPY"));
    assert_int_equal(image->scratch_size, nuc_align_up(pixels * 7, 16));
    assert_true(image->scratch_proven);
}

/* A sum writes over its operands, of which one was given a table: the scratch holds one tensor and what is added. */
static void in_place(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 7);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3), other = parameters(cx, 0.05f, -3);
    size_t pixels = size_of(d, 0) / (size_t)nuc_ltb_at(d, 0)->shape[3];

    int32_t a = add_requantized(d, add_pointwise(d, 0, 5, quant), other), b = add_pointwise(d, 0, 5, quant);
    add_pointwise(d, add_elementwise(d, NUC_LT_ADD, a, b, other), 2, quant);
    const struct nuc_neutron_image *image = converted(d);
    assert_int_equal(image->n_calls, 4);
    assert_false(has_call(image, "LUT"));
    assert_int_equal(image->scratch_size, 2 * nuc_align_up(pixels * 5, 16));
    assert_true(image->scratch_proven);
    /* As a call of its own the table is in place, too. */
    image = nuc_convert_litert(cx, d->model, &(struct nuc_convert_options){.revision_3 = true});
    assert_int_equal(image->n_calls, 5);
    assert_int_equal(image->scratch_size, 2 * nuc_align_up(pixels * 5, 16));
}

static const char *disassembled(struct nuc_context *cx, const struct nuc_neutron_image *image)
{
    struct nuc_text text = {.cx = cx};

    nuc_disassemble(&text, image->microcode);
    return nuc_text_string(&text);
}

/* Both ways of converting give the same bytes. Returns the calls of the one with tables at the end of calls. */
static const struct nuc_neutron_image *same_with_tables(struct nuc_ltb *d)
{
    const struct nuc_convert_options before = {.revision_3 = true};
    struct nuc_neutron_image *image = converted(d), *plain = nuc_convert_litert(d->cx, d->model, &before);

    expect_same(run_image(d, image), run_image(d, plain));
    assert_int_equal(version_of(plain), NUC_MC_VERSION_3);
    return image;
}

/* x * sigmoid(x) behind a convolution is the table at the end of its call; so is a function of that. */
static void function_of_one_value(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 11);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);

    int32_t x = add_pointwise(d, 0, 5, quant);
    int32_t sigmoid = function(d, NUC_LT_LOGISTIC, x, parameters(cx, 1.0f / 256, -128));
    int32_t silu = add_elementwise(d, NUC_LT_MUL, x, sigmoid, parameters(cx, 0.04f, -100));
    add_elementwise(d, NUC_LT_SUB, silu, sigmoid, quant);
    const struct nuc_neutron_image *image = same_with_tables(d);
    assert_int_equal(image->n_calls, 1);
    assert_int_equal(version_of(image), NUC_MC_VERSION_4);
    assert_non_null(strstr(disassembled(cx, image), "\n    table    weights + 0x"));
}

/* A table at the end of each kind of call, also of one that writes rows of a concatenation. */
static void tables_at_the_end(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 12);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3), other = parameters(cx, 0.05f, -3);

    int32_t x = add_pointwise(d, 0, 5, quant), y = add_pointwise(d, 0, 5, quant);
    int32_t sum = add_requantized(d, add_elementwise(d, NUC_LT_ADD, x, y, quant), other);
    add_pad(d, add_pool(d, NUC_LT_MAX_POOL_2D, x), 3);
    int32_t all = joined(d, sum, add_requantized(d, add_pointwise(d, y, 3, quant), other), 3);
    int32_t mean = add_requantized(d, add_mean(d, all, other), quant);
    add_requantized(d, add_elementwise(d, NUC_LT_MUL, all, mean, quant), other);
    assert_false(has_call(same_with_tables(d), "LUT"));
}

/* Slices of channels are read where they lie, and so is a part of a concatenation by others. */
static void rows_are_read(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 13);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);
    int32_t halves[2], parts[3];

    int32_t x = add_pointwise(d, 0, 8, quant);
    halves[0] = add_pointwise(d, sliced(d, x, 3, 0, 3), 4, quant);
    halves[1] = add_elementwise(d, NUC_LT_ADD, sliced(d, x, 3, 3, 4), halves[0], quant);
    parts[0] = all_joined(d, halves, 2, 3);
    parts[1] = add_pointwise(d, halves[0], 2, quant);
    int32_t mean = add_mean(d, add_pool(d, NUC_LT_MAX_POOL_2D, add_pad(d, halves[1], -128)), quant);
    /* A table of a slice that keeps its clamp to itself: the slice's source has other readers. */
    int32_t y = add_elementwise(d, NUC_LT_MUL, halves[1], mean, quant);
    parts[2] = add_elementwise(d, NUC_LT_ADD, y, unary(d, NUC_LT_RELU, sliced(d, x, 3, 4, 4)), quant);
    add_pointwise(d, all_joined(d, parts, 3, 3), 2, quant);
    assert_false(has_call(same_with_tables(d), "COPY"));
}

/*
 * Attention of two heads over slices of one layer, in the order in which each row has a slice seen: no copies are left
 * of its slices and permutations, also where windows and heads make two levels of matrices.
 */
static void heads_are_read(struct nuc_context *cx, void *arg)
{
    static const struct {
        bool merges_rows, merges_heads;
    } rows[] = {{true, false}, {false, false}, {false, true}};

    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nuc_ltb *d = net_new(cx, 15 + i);
        int32_t x = add_pointwise(d, 0, 3 * 6, parameters(cx, 0.06f, 3)), parts[3];
        const int32_t h = nuc_ltb_at(d, x)->shape[1], w = nuc_ltb_at(d, x)->shape[2];
        const int32_t seen[4] = {rows[i].merges_rows || rows[i].merges_heads ? 1 : h,
                                 rows[i].merges_rows    ? h * w
                                 : rows[i].merges_heads ? h
                                                        : w,
                                 rows[i].merges_heads ? w * 2 : 2, 3};
        for (int32_t k = 0; k < 3; k++) {
            int32_t part = reshaped(d, sliced(d, x, 3, 6 * k, 6), seen, 4);
            part = permuted(d, part, k == 1 ? (const int32_t[]){0, 2, 3, 1} : (const int32_t[]){0, 2, 1, 3}, 4);
            const int32_t *of = nuc_ltb_at(d, part)->shape;
            parts[k] = reshaped(d, part, LIST(1, of[0] * of[1], of[2], of[3]));
        }
        int32_t y = add_product(d, add_product(d, parts[0], parts[1]), parts[2]);
        const int32_t heads = rows[i].merges_heads ? w * 2 : 2, n = nuc_ltb_at(d, y)->shape[1] / heads;
        const int32_t apart[4] = {n, heads, nuc_ltb_at(d, y)->shape[2], 3};
        permuted(d, reshaped(d, y, apart, 4), (const int32_t[]){0, 2, 1, 3}, 4);
        assert_int_equal(same_with_tables(d)->n_calls, 3);
    }
}

/*
 * A permutation of a permutation, whose product reads the two together as the order that the bytes have. To let a large
 * value go the slice in front is copied, not the first permutation: the second alone is none that a product reads.
 */
static void orders_stay_readable(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 30);
    const int32_t h = nuc_ltb_at(d, 0)->shape[1], w = nuc_ltb_at(d, 0)->shape[2];
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);

    int32_t first = add_transpose(d, sliced(d, add_pointwise(d, 0, 8, quant), 3, 0, 4));
    int32_t other = add_pointwise(d, add_pointwise(d, 0, 40, quant), 4, quant);
    int32_t rows = reshaped(d, add_transpose(d, first), LIST(1, 1, h * w, 4));
    add_product(d, rows, reshaped(d, sliced(d, other, 1, 0, 1), LIST(1, 1, 4, w)));
    assert_int_equal(same_with_tables(d)->n_calls, 5);
}

/* A convolution of few channels of an image, and how much of it there is. */
struct wide_conv {
    int32_t h, w, c, k, stride, dilation, out_c;
    bool same;
};

static void set_image(struct nuc_ltb *d, const struct wide_conv *v)
{
    int32_t *shape = nuc_ltb_at(d, 0)->shape;

    shape[1] = v->h;
    shape[2] = v->w;
    shape[3] = v->c;
}

static void add_wide_conv(struct nuc_ltb *d, int32_t x, const struct wide_conv *v)
{
    const int32_t *shape = nuc_ltb_at(d, x)->shape, reach = v->same ? 1 : (v->k - 1) * v->dilation + 1;
    const int32_t h = (shape[1] - reach) / v->stride + 1, w = (shape[2] - reach) / v->stride + 1;

    int32_t y = add_conv(d, x, v->k, v->out_c, parameters(d->cx, 0.06f, 3));
    union nuc_lt_options *o = &last_op(d)->options;
    o->conv.padding = v->same ? NUC_LT_SAME : NUC_LT_VALID;
    o->conv.stride_h = o->conv.stride_w = v->stride;
    o->conv.dilation_h = o->conv.dilation_w = v->dilation;
    nuc_ltb_at(d, y)->shape[1] = h;
    nuc_ltb_at(d, y)->shape[2] = w;
}

/* Returns whether the call takes fewer cycles than one of revision 3. */
static bool gains_by_pixels(struct nuc_ltb *d)
{
    const struct nuc_convert_options before = {.revision_3 = true};

    return same_with_tables(d)->calls[0].cycles < nuc_convert_litert(d->cx, d->model, &before)->calls[0].cycles;
}

/* Convolutions of few channels, whose pixels become channels where that takes fewer cycles. */
static void pixels_are_channels(struct nuc_context *cx, void *arg)
{
    static const struct {
        struct wide_conv conv;
        bool gains;
    } rows[] = {{{24, 32, 3, 3, 2, 1, 8, true}, true},  {{24, 32, 3, 4, 4, 1, 8, false}, true},
                {{24, 32, 1, 5, 2, 1, 8, true}, true},  {{24, 48, 3, 7, 2, 1, 8, true}, true},
                {{24, 32, 1, 9, 1, 1, 8, true}, true},  {{24, 48, 1, 5, 2, 2, 8, true}, true},
                {{24, 33, 3, 3, 2, 1, 8, true}, false}, {{24, 32, 8, 3, 2, 1, 8, false}, false},
                {{24, 40, 4, 2, 2, 1, 8, false}, true}};

    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nuc_ltb *d = net_new(cx, 20 + i);
        set_image(d, &rows[i].conv);
        add_wide_conv(d, 0, &rows[i].conv);
        if (gains_by_pixels(d) != rows[i].gains)
            fail_msg("row %u", i);
    }
}

/* A scale for each of the channels that the last operator computes. */
static void set_scales(struct nuc_ltb *d, int32_t channels)
{
    float *scales = nuc_alloc_array(d->cx, (size_t)channels, sizeof *scales);
    int64_t *zeros = nuc_alloc_array(d->cx, (size_t)channels, sizeof *zeros);

    for (int32_t i = 0; i < channels; i++)
        scales[i] = 0.001f * (float)random_in(&seed, 1, 20);
    memset(zeros, 0, (size_t)channels * sizeof *zeros);
    nuc_ltb_at(d, last_op(d)->inputs[1])->quant =
        (struct nuc_lt_quant){.count = (uint32_t)channels, .scale = scales, .zero_point = zeros};
}

/* Any such convolution, behind a pad or not, with any clamp. */
static void compare_wide(struct nuc_context *cx, void *arg)
{
    struct random_case *c = arg;
    struct nuc_ltb *d = net_new(cx, c->seed);
    struct wide_conv v = {.h = random_in(&seed, 1, 40), .c = random_in(&seed, 1, 6), .out_c = random_in(&seed, 1, 20)};

    v.w = random_in(&seed, 1, 8) * (4 << random_in(&seed, 0, 4));
    v.k = random_in(&seed, 1, 9);
    v.stride = random_in(&seed, 1, 5);
    v.dilation = random_in(&seed, 1, 3);
    const int32_t reach = (v.k - 1) * v.dilation + 1;
    v.same = reach > v.w || reach > v.h || next_random(&seed) % 2;
    set_image(d, &v);
    add_wide_conv(d, next_random(&seed) % 3 ? 0 : add_pad(d, 0, zero_point(d, 0)), &v);
    last_op(d)->options.conv.activation = random_activation();
    if (next_random(&seed) % 2)
        set_scales(d, v.out_c);
    c->found += gains_by_pixels(d);
}

static void pixels_keep_bytes(void **state)
{
    assert_true(check_seeds(compare_wide, 400) > 50);
}

/* Slices of one tensor, one behind the other, are one gather, also along several dimensions and of a slice. */
static void slices_are_gathered(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 17);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);

    int32_t x = sliced(d, add_pointwise(d, 0, 7, quant), 3, 1, 5);
    x = rolled(d, rolled(d, rolled(d, x, 1, 2), 2, 1), 3, 3);
    add_pointwise(d, x, 4, quant);
    const struct nuc_neutron_image *image = same_with_tables(d);
    assert_int_equal(image->n_calls, 3);
    assert_true(has_call(image, "GATHER"));
}

/* A gather has as many dimensions as a record: slices of a tensor of more are copied. */
static void slices_of_many_dimensions(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 18);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);

    int32_t x = add_pointwise(d, 0, 5, quant);
    const struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    x = rolled(d, reshaped(d, x, LIST(1, 1, 1, 1, 1, 1, t.shape[1], t.shape[2], t.shape[3])), 8, 2);
    add_pointwise(d, reshaped(d, x, t.shape, t.rank), 4, quant);
    assert_false(has_call(same_with_tables(d), "GATHER"));
}

/* Features that each layer adds to those before: all lie in the last concatenation but the input, which is copied. */
static void nested_concatenations(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 14);
    struct nuc_lt_quant quant = nuc_ltb_at(d, 0)->quant;
    int32_t features[5] = {0};
    uint32_t copies = 0;

    for (uint32_t i = 1; i < 5; i++) {
        int32_t all = i == 1 ? 0 : all_joined(d, features, i, 3);
        features[i] = add_pointwise(d, add_pointwise(d, all, 9, parameters(cx, 0.06f, 3)), (int32_t)i, quant);
    }
    add_pointwise(d, all_joined(d, features, 5, 3), 2, quant);
    const struct nuc_neutron_image *image = same_with_tables(d);
    for (uint32_t i = 0; i < image->n_calls; i++)
        copies += strcmp(image->calls[i].opcode, "COPY") == 0;
    assert_true(copies <= 4); /* the input, for each concatenation */
    assert_int_equal(image->n_calls - copies, 9);
}

/* The branch that needs much memory for a short time runs before the one whose result is kept meanwhile. */
static void order_of_branches(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 8);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);
    size_t pixels = size_of(d, 0) / (size_t)nuc_ltb_at(d, 0)->shape[3];

    int32_t kept = add_pointwise(d, 0, 16, quant), large = add_pointwise(d, 0, 64, quant);
    int32_t small = add_pointwise(d, large, 16, quant);
    add_pointwise(d, add_elementwise(d, NUC_LT_ADD, kept, small, quant), 2, quant);
    const struct nuc_neutron_image *image = converted(d);
    assert_int_equal(image->scratch_size, pixels * (64 + 16));
    assert_true(image->scratch_proven);
}

/* Both convolutions take the pad, so that nothing is left of it. */
static void shared_pad(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 9);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);

    int32_t padded = add_pad(d, 0, zero_point(d, 0)), a = add_pointwise(d, padded, 2, quant);
    joined(d, a, add_pointwise(d, padded, 2, quant), 3);
    assert_int_equal(converted(d)->n_calls, 2);
}

/* A clamp and a table go through the transposes and the slice before them. */
static void functions_behind_moves(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 10);
    struct nuc_lt_quant quant = parameters(cx, 0.06f, 3);

    int32_t x = unary(d, NUC_LT_RELU6, add_transpose(d, add_pointwise(d, 0, 4, quant)));
    x = add_transpose(d, add_requantized(d, x, parameters(cx, 0.05f, -3)));
    add_requantized(d, sliced(d, x, 1, 1, 2), quant);
    assert_int_equal(converted(d)->n_calls, 4); /* convolution with a table, copy, copy, copy */
}

static void unknown_operator(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 1);

    unary(d, 31, 0);
    converted(d);
}

static void float_tensor(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 1);

    nuc_ltb_at(d, unary(d, NUC_LT_RELU, 0))->dtype = NUC_F32;
    converted(d);
}

static void short_constant(struct nuc_context *cx, void *arg)
{
    struct nuc_ltb *d = net_new(cx, 1);

    convolved(d, 0);
    nuc_ltb_at(d, last_op(d)->inputs[1])->data.size--;
    converted(d);
}

static void refusals_name_the_operator(void **state)
{
    expect_failure(unknown_operator, NULL, NUC_UNSUPPORTED, "operator 0 (BUILTIN_31): has no kernel");
    expect_failure(float_tensor, NULL, NUC_UNSUPPORTED, "operator 0 (RELU): tensor 'v' is float32");
    expect_failure(short_constant, NULL, NUC_BAD_INPUT, "bytes of data");
}

RUN_TESTS(cmocka_unit_test(merging_keeps_bytes), cmocka_unit_test(fetching_keeps_bytes),
          CONTEXT_TEST(fetching_begins_early), STATE_TEST(whole_block_is_one_call), CONTEXT_TEST(concat_of_two),
          CONTEXT_TEST(in_place), CONTEXT_TEST(function_of_one_value), CONTEXT_TEST(tables_at_the_end),
          CONTEXT_TEST(rows_are_read), CONTEXT_TEST(heads_are_read), CONTEXT_TEST(slices_are_gathered),
          CONTEXT_TEST(slices_of_many_dimensions), CONTEXT_TEST(orders_stay_readable),
          CONTEXT_TEST(pixels_are_channels), cmocka_unit_test(pixels_keep_bytes), CONTEXT_TEST(nested_concatenations),
          CONTEXT_TEST(order_of_branches), CONTEXT_TEST(shared_pad), CONTEXT_TEST(functions_behind_moves),
          cmocka_unit_test(refusals_name_the_operator))
