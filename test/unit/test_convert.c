/*
 * The converter: merging never changes a byte, the scratch plan never overlaps, what has no kernel is refused by name.
 * A network is run twice, once as it is and once with every intermediate given out, which forbids all merging.
 */
#include "contexts.h"
#include "random.h"

#include <math.h>

#include "npu/container/disassemble.h"
#include "npu/convert/convert.h"
#include "nucleon/NeutronDriver.h"

/* ---- models ---- */

struct net {
    struct nuc_context *cx;
    struct nuc_lt_model *m;
    uint32_t seed;
    int32_t last; /* tensor */
};

static struct nuc_lt_quant quantization(struct nuc_context *cx, float scale, int32_t zero)
{
    float *s = nuc_alloc(cx, sizeof *s);
    int64_t *z = nuc_alloc(cx, sizeof *z);

    *s = scale;
    *z = zero;
    return (struct nuc_lt_quant){.count = 1, .scale = s, .zero_point = z};
}

static int32_t add_tensor(struct net *n, enum nuc_dtype dtype, uint32_t rank, const int32_t *shape,
                          struct nuc_lt_quant quant, const void *data)
{
    struct nuc_lt_tensor t = {
        .name = nuc_format(n->cx, "t%u", n->m->subgraphs[0].n_tensors), .dtype = dtype, .rank = rank, .quant = quant};

    memcpy(t.shape, shape, rank * sizeof *shape);
    if (data)
        t.data = (struct nuc_span){data, (size_t)nuc_lt_elements(&t) * nuc_dtype_size(dtype)};
    return nuc_lt_add_tensor(n->m, &t);
}

static int32_t activation(struct net *n, int32_t a, int32_t b, int32_t c, int32_t d, struct nuc_lt_quant quant)
{
    const int32_t shape[4] = {a, b, c, d};

    return add_tensor(n, NUC_I8, 4, shape, quant, NULL);
}

static struct nuc_lt_tensor *tensor(struct net *n, int32_t i)
{
    return &n->m->subgraphs[0].tensors[i];
}

static int32_t integers(struct net *n, const int32_t *values, int32_t count, int32_t columns)
{
    const int32_t shape[2] = {count / columns, columns};

    return add_tensor(n, NUC_I32, 2, shape, (struct nuc_lt_quant){0},
                      nuc_copy(n->cx, values, (size_t)count * sizeof *values));
}

static const int8_t *random_bytes(struct net *n, size_t size)
{
    int8_t *bytes = nuc_alloc(n->cx, size);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (int8_t)random_in(&n->seed, -128, 127);
    return bytes;
}

static struct nuc_lt_op *step(struct net *n, int32_t code, const int32_t *inputs, uint32_t n_inputs, int32_t output)
{
    struct nuc_lt_op *op = nuc_lt_add_op(n->m, code, inputs, n_inputs, &output, 1);

    n->last = output;
    return op;
}

static struct net net_new(struct nuc_context *cx, uint32_t seed)
{
    struct net n = {cx, nuc_lt_model_new(cx, "net"), seed, -1};
    struct nuc_lt_subgraph *g = &n.m->subgraphs[0];

    n.last = activation(&n, 1, random_in(&n.seed, 5, 9), random_in(&n.seed, 5, 9), random_in(&n.seed, 1, 6),
                        quantization(cx, 0.05f, random_in(&n.seed, -128, 127)));
    g->inputs = nuc_copy(cx, &n.last, sizeof n.last);
    g->n_inputs = 1;
    return n;
}

static void add_pad(struct net *n, int32_t value)
{
    const struct nuc_lt_tensor x = *tensor(n, n->last);
    int32_t pads[8] = {0,
                       0,
                       random_in(&n->seed, 0, 2),
                       random_in(&n->seed, 0, 2),
                       random_in(&n->seed, 0, 2),
                       random_in(&n->seed, 0, 2)};
    const int32_t one[1] = {1};
    const int8_t fill = (int8_t)value;
    int32_t inputs[3] = {n->last, integers(n, pads, 8, 2),
                         add_tensor(n, NUC_I8, 1, one, x.quant, nuc_copy(n->cx, &fill, 1))};
    int32_t y = activation(n, 1, x.shape[1] + pads[2] + pads[3], x.shape[2] + pads[4] + pads[5], x.shape[3], x.quant);

    step(n, NUC_LT_PADV2, inputs, 3, y);
}

static enum nuc_lt_activation random_activation(struct net *n)
{
    return (enum nuc_lt_activation)random_in(&n->seed, NUC_LT_ACT_NONE, NUC_LT_ACT_RELU6);
}

static void add_conv(struct net *n)
{
    const struct nuc_lt_tensor x = *tensor(n, n->last);
    int32_t k = random_in(&n->seed, 1, 3), out_c = random_in(&n->seed, 1, 6);
    const int32_t shape[4] = {out_c, k, k, x.shape[3]};
    size_t size = (size_t)(out_c * k * k * x.shape[3]);
    int32_t *bias = nuc_alloc_array(n->cx, (size_t)out_c, sizeof *bias);

    for (int32_t i = 0; i < out_c; i++)
        bias[i] = random_in(&n->seed, -3000, 3000);
    int32_t inputs[3] = {n->last, add_tensor(n, NUC_I8, 4, shape, quantization(n->cx, 0.01f, 0), random_bytes(n, size)),
                         add_tensor(n, NUC_I32, 1, &out_c, quantization(n->cx, 0.0005f, 0), bias)};
    int32_t y = activation(n, 1, x.shape[1] - k + 1, x.shape[2] - k + 1, out_c,
                           quantization(n->cx, 0.1f, random_in(&n->seed, -128, 127)));
    struct nuc_lt_op *op = step(n, NUC_LT_CONV_2D, inputs, 3, y);
    op->options.conv.padding = NUC_LT_VALID;
    op->options.conv.stride_h = op->options.conv.stride_w = 1;
    op->options.conv.dilation_h = op->options.conv.dilation_w = 1;
    op->options.conv.activation = random_activation(n);
}

static void add_pool(struct net *n, int32_t code)
{
    const struct nuc_lt_tensor x = *tensor(n, n->last);
    int32_t k = x.shape[1] > 1 && x.shape[2] > 1 ? 2 : 1;
    int32_t y = activation(n, 1, x.shape[1] - k + 1, x.shape[2] - k + 1, x.shape[3], x.quant);
    struct nuc_lt_op *op = step(n, code, &n->last, 1, y);

    op->options.pool.padding = NUC_LT_VALID;
    op->options.pool.stride_h = op->options.pool.stride_w = 1;
    op->options.pool.filter_h = op->options.pool.filter_w = k;
    op->options.pool.activation = random_activation(n);
}

/* A function of one value; half the time with the quantization of its input, when it may become a clamp. */
static void add_function(struct net *n, int32_t code)
{
    const struct nuc_lt_tensor x = *tensor(n, n->last);
    bool same = next_random(&n->seed) % 2;
    int32_t y = activation(n, x.shape[0], x.shape[1], x.shape[2], x.shape[3],
                           same ? x.quant : quantization(n->cx, 0.07f, random_in(&n->seed, -128, 127)));

    step(n, code, &n->last, 1, y);
}

static void add_scalar(struct net *n, int32_t code)
{
    const struct nuc_lt_tensor x = *tensor(n, n->last);
    const int32_t one[1] = {1};
    bool sum = code == NUC_LT_ADD;
    int32_t constant = add_tensor(n, NUC_I8, 1, one, sum ? quantization(n->cx, 0.02f, 3) : x.quant, random_bytes(n, 1));
    int32_t inputs[2] = {n->last, constant};
    int32_t y =
        activation(n, x.shape[0], x.shape[1], x.shape[2], x.shape[3], sum ? quantization(n->cx, 0.06f, -7) : x.quant);

    step(n, code, inputs, 2, y);
}

/* [1, H, W, C] to [1, W, H, C] by a reshape: the bytes stay. */
static void add_reshape(struct net *n)
{
    const struct nuc_lt_tensor x = *tensor(n, n->last);
    int32_t y = activation(n, x.shape[0], x.shape[2], x.shape[1], x.shape[3], x.quant);

    step(n, NUC_LT_RESHAPE, &n->last, 1, y);
}

static void add_transpose(struct net *n)
{
    static const int32_t perm[4] = {0, 2, 1, 3};
    const struct nuc_lt_tensor x = *tensor(n, n->last);
    int32_t inputs[2] = {n->last, integers(n, perm, 4, 4)};
    int32_t y = activation(n, x.shape[0], x.shape[2], x.shape[1], x.shape[3], x.quant);

    step(n, NUC_LT_TRANSPOSE, inputs, 2, y);
}

/* ---- branches ---- */

/* The tensor's values with another quantization. */
static int32_t add_requantized(struct net *n, int32_t from, struct nuc_lt_quant quant)
{
    const struct nuc_lt_tensor x = *tensor(n, from);
    int32_t y = activation(n, x.shape[0], x.shape[1], x.shape[2], x.shape[3], quant);

    step(n, NUC_LT_QUANTIZE, &from, 1, y);
    return y;
}

static int32_t add_elementwise(struct net *n, int32_t code, int32_t a, int32_t b, struct nuc_lt_quant quant)
{
    const struct nuc_lt_tensor x = *tensor(n, a);
    int32_t inputs[2] = {a, b}, y = activation(n, x.shape[0], x.shape[1], x.shape[2], x.shape[3], quant);

    step(n, code, inputs, 2, y);
    return y;
}

/* A convolution of one tap to some channels of a quantization. */
static int32_t add_pointwise(struct net *n, int32_t from, int32_t out_c, struct nuc_lt_quant quant)
{
    const struct nuc_lt_tensor x = *tensor(n, from);
    const int32_t shape[4] = {out_c, 1, 1, x.shape[3]};
    int32_t *bias = nuc_alloc_array(n->cx, (size_t)out_c, sizeof *bias);
    const int8_t *weights = random_bytes(n, (size_t)(out_c * x.shape[3]));
    int32_t inputs[3] = {from, add_tensor(n, NUC_I8, 4, shape, quantization(n->cx, 0.01f, 0), weights),
                         add_tensor(n, NUC_I32, 1, &out_c, quantization(n->cx, 0.0005f, 0), bias)};
    int32_t y = activation(n, 1, x.shape[1], x.shape[2], out_c, quant);
    struct nuc_lt_op *op = step(n, NUC_LT_CONV_2D, inputs, 3, y);

    op->options.conv.padding = NUC_LT_VALID;
    op->options.conv.stride_h = op->options.conv.stride_w = 1;
    op->options.conv.dilation_h = op->options.conv.dilation_w = 1;
    return y;
}

/* `size` positions from `begin` on along one axis. */
static int32_t add_slice(struct net *n, int32_t from, int32_t axis, int32_t begin, int32_t size)
{
    const struct nuc_lt_tensor x = *tensor(n, from);
    int32_t starts[4] = {0}, sizes[4] = {x.shape[0], x.shape[1], x.shape[2], x.shape[3]};

    starts[axis] = begin;
    sizes[axis] = size;
    int32_t inputs[3] = {from, integers(n, starts, 4, 4), integers(n, sizes, 4, 4)};
    int32_t y = activation(n, sizes[0], sizes[1], sizes[2], sizes[3], x.quant);
    step(n, NUC_LT_SLICE, inputs, 3, y);
    return y;
}

static int32_t add_concat(struct net *n, const int32_t *parts, uint32_t count, int32_t axis)
{
    int32_t shape[4] = {1, tensor(n, parts[0])->shape[1], tensor(n, parts[0])->shape[2], tensor(n, parts[0])->shape[3]};

    for (uint32_t i = 1; i < count; i++)
        shape[axis] += tensor(n, parts[i])->shape[axis];
    int32_t y = activation(n, shape[0], shape[1], shape[2], shape[3], tensor(n, parts[0])->quant);
    step(n, NUC_LT_CONCATENATION, parts, count, y)->options.concat.axis = axis;
    return y;
}

/* A part of a concatenation: other values of `from` in the quantization all parts share. */
static int32_t add_part(struct net *n, int32_t from, int32_t axis, struct nuc_lt_quant quant)
{
    const struct nuc_lt_tensor x = *tensor(n, from);
    int32_t part = add_requantized(n, from, quant), other;

    switch (next_random(&n->seed) % 6) {
    case 0:
        other = add_requantized(n, from, quantization(n->cx, 0.09f, 4));
        return add_elementwise(n, NUC_LT_ADD, part, other, quant);
    case 1:
        return add_elementwise(n, NUC_LT_MUL, part, part, quant);
    case 2:
        return add_pointwise(n, from, axis == 3 ? random_in(&n->seed, 1, 4) : x.shape[3], quant);
    case 3:
        return add_slice(n, part, axis, 0, (x.shape[axis] + 1) / 2);
    case 4:
        step(n, NUC_LT_RELU, &part, 1, activation(n, 1, x.shape[1], x.shape[2], x.shape[3], quant));
        return n->last;
    default:
        return part;
    }
}

/* The same values under another name. */
static int32_t add_whole(struct net *n, int32_t from)
{
    return add_slice(n, from, 1, 0, tensor(n, from)->shape[1]);
}

/* The last part twice, under one name or two. */
static int32_t repeat_part(struct net *n, int32_t *last)
{
    if (next_random(&n->seed) % 2)
        return *last;
    int32_t name = add_whole(n, *last);
    *last = add_whole(n, name);
    return name;
}

/* Parts along an axis, some listed twice, some read by others too; then perhaps nested in another concatenation. */
static void add_branches(struct net *n)
{
    int32_t axis = random_in(&n->seed, 1, 3), from = n->last, parts[4];
    uint32_t count = (uint32_t)random_in(&n->seed, 2, 3);
    struct nuc_lt_quant quant = quantization(n->cx, 0.06f, random_in(&n->seed, -128, 127));

    for (uint32_t i = 0; i < count; i++)
        parts[i] =
            i > 0 && next_random(&n->seed) % 6 == 0 ? repeat_part(n, &parts[i - 1]) : add_part(n, from, axis, quant);
    int32_t y = add_concat(n, parts, count, axis);
    if (next_random(&n->seed) % 2) {
        int32_t outer[2] = {y, add_slice(n, y, axis, random_in(&n->seed, 0, 1), 1)};
        y = add_concat(n, outer, 2, axis);
    }
    if (next_random(&n->seed) % 2)
        y = add_elementwise(n, NUC_LT_ADD, y, add_requantized(n, y, quant), quant);
    n->last = add_slice(n, y, axis, 0, tensor(n, y)->shape[axis] < 12 ? tensor(n, y)->shape[axis] : 12);
}

static void add_random(struct net *n)
{
    const struct nuc_lt_tensor *x = tensor(n, n->last);
    int32_t zero = (int32_t)x->quant.zero_point[0];
    bool room = x->shape[1] > 3 && x->shape[2] > 3;

    switch (next_random(&n->seed) % 15) {
    case 0:
        add_pad(n, next_random(&n->seed) % 2 ? zero : -128);
        break;
    case 1:
    case 2:
        add_pad(n, zero);
        add_conv(n);
        break;
    case 3:
        room ? add_conv(n) : add_transpose(n);
        break;
    case 4:
        add_pad(n, -128);
        add_pool(n, NUC_LT_MAX_POOL_2D);
        break;
    case 5:
        add_pad(n, random_in(&n->seed, -128, 127));
        add_pool(n, NUC_LT_AVERAGE_POOL_2D);
        break;
    case 6:
        add_function(n, NUC_LT_RELU);
        break;
    case 7:
        add_function(n, next_random(&n->seed) % 2 ? NUC_LT_RELU6 : NUC_LT_RELU_N1_TO_1);
        break;
    case 8:
        add_function(n, next_random(&n->seed) % 2 ? NUC_LT_QUANTIZE : NUC_LT_LEAKY_RELU);
        break;
    case 9:
        add_scalar(n, next_random(&n->seed) % 2 ? NUC_LT_MAXIMUM : NUC_LT_ADD);
        break;
    case 10:
        add_reshape(n);
        break;
    case 11:
    case 12:
    case 13:
        add_branches(n);
        break;
    default:
        add_transpose(n);
        break;
    }
}

/* Gives out the last tensor, or all that operators compute. */
static void set_outputs(struct net *n, bool all)
{
    struct nuc_lt_subgraph *g = &n->m->subgraphs[0];

    g->n_outputs = all ? g->n_ops : 1;
    g->outputs = nuc_alloc_array(n->cx, g->n_outputs, sizeof *g->outputs);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        g->outputs[i] = g->ops[all ? i : g->n_ops - 1].outputs[0];
}

/* ---- running ---- */

static void *aligned(struct nuc_span s)
{
    uint8_t *copy = aligned_alloc(16, nuc_align_up(s.size + 16, 16));

    if (s.data)
        memcpy(copy, s.data, s.size);
    return copy;
}

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

static uint8_t *run_image(struct net *n, const void *input, size_t *size, struct nuc_neutron_image *im);

/* Converts and runs; the bytes of the last output, `size` of them. */
static uint8_t *run(struct net *n, const void *input, size_t *size, struct nuc_neutron_image **image)
{
    *image = nuc_convert_litert(n->cx, n->m, NULL);
    return run_image(n, input, size, *image);
}

static uint8_t *run_image(struct net *n, const void *input, size_t *size, struct nuc_neutron_image *im)
{
    const struct nuc_lt_subgraph *g = &n->m->subgraphs[0];
    NeutronModelConfig config = {aligned(im->microcode), aligned(im->weights), aligned(im->kernels), 60};
    void *outputs[128];
    const void *inputs[1] = {input};
    NeutronModelHandle handle = NULL;
    NeutronDataConfig data = {inputs, outputs, NULL, aligned((struct nuc_span){NULL, im->staging_size})};

    assert_int_equal(neutronModelPrepare(&config, &handle), ENONE);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        *size = (size_t)nuc_lt_elements(tensor(n, g->outputs[i]));
        outputs[i] = aligned((struct nuc_span){NULL, *size});
    }
    outputs[g->n_outputs] = aligned((struct nuc_span){NULL, im->scratch_size});
    memset(outputs[g->n_outputs], 0x5A, im->scratch_size);
    outputs[g->n_outputs + 1] = outputs[g->n_outputs + 2] = NULL;
    assert_int_equal(neutronRunBlocking(handle, &data), ENONE);
    neutronModelUnprepare(handle);
    for (uint32_t i = 0; i + 1 < g->n_outputs; i++)
        free(outputs[i]);
    free(outputs[g->n_outputs]);
    free((void *)(uintptr_t)config.microcode);
    free((void *)(uintptr_t)config.weights);
    free((void *)(uintptr_t)config.kernels);
    free(data.scratchWeights);
    return outputs[g->n_outputs - 1];
}

static struct net random_net(struct nuc_context *cx, uint32_t seed)
{
    struct net n = net_new(cx, seed);
    int32_t steps = random_in(&n.seed, 2, 8);

    for (int32_t i = 0; i < steps; i++)
        add_random(&n);
    return n;
}

/* Calls when each operator is one, and each operand of a concatenation. */
static uint32_t separate_calls(const struct net *n)
{
    const struct nuc_lt_subgraph *g = &n->m->subgraphs[0];
    uint32_t calls = g->n_ops;

    for (uint32_t i = 0; i < g->n_ops; i++)
        calls += g->ops[i].code == NUC_LT_CONCATENATION ? g->ops[i].n_inputs - 1 : 0;
    return calls;
}

/* ---- weights in flash ---- */

static uint32_t version_of(const struct nuc_neutron_image *image)
{
    return nuc_load_u32(image->microcode.data + 4 * NUC_MC_WORD_VERSION);
}

struct fetch_case {
    uint32_t seed, n_staged;
};

static void compare_fetched(struct nuc_context *cx, void *arg)
{
    struct fetch_case *c = arg;
    struct net n = random_net(cx, c->seed);
    const struct nuc_convert_options fetch = {.fetch_constants = true};
    struct nuc_neutron_image *plain, *fetched;
    size_t size, size_fetched;
    int8_t *input = aligned((struct nuc_span){NULL, (size_t)nuc_lt_elements(tensor(&n, 0))});

    for (int64_t i = 0; i < nuc_lt_elements(tensor(&n, 0)); i++)
        input[i] = (int8_t)random_in(&n.seed, -128, 127);
    set_outputs(&n, false);
    uint8_t *a = run(&n, input, &size, &plain);
    fetched = nuc_convert_litert(cx, n.m, &fetch);
    uint8_t *b = run_image(&n, input, &size_fetched, fetched);
    assert_int_equal(size, size_fetched);
    assert_memory_equal(a, b, size);
    assert_int_equal(plain->staging_size, 0);
    assert_int_equal(fetched->scratch_size, plain->scratch_size);
    assert_true(fetched->staging_size <= nuc_align_up(fetched->weights.size, NUC_MC_ALIGNMENT));
    assert_int_equal(fetched->staging_size > 0, fetched->n_calls > plain->n_calls);
    c->n_staged += fetched->staging_size > 0;
    free(a);
    free(b);
    free(input);
}

/* Weights that are copied while other calls compute give the same bytes. */
static void fetching_keeps_bytes(void **state)
{
    const NeutronConfig copies = {start_copy, end_copy};
    const NeutronConfig none = {NULL, NULL};
    struct fetch_case c = {0, 0};

    assert_int_equal(neutronSetConfig((NeutronConfig *)(uintptr_t)&copies), ENONE);
    for (c.seed = 1; c.seed <= 200; c.seed++)
        run_in_context(compare_fetched, &c);
    assert_true(c.n_staged > 100);
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
    struct net n = net_new(cx, 3);
    int32_t last = 0;
    size_t size, again;

    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        last = add_pointwise(&n, last, channels[i], quantization(cx, 0.06f, 3));
    set_outputs(&n, false);
    struct nuc_neutron_image *a = nuc_convert_litert(cx, n.m, &early), *b = nuc_convert_litert(cx, n.m, &late);
    size_t bytes = (size_t)nuc_lt_elements(tensor(&n, 0));
    uint8_t *input = aligned((struct nuc_span){(const uint8_t *)random_bytes(&n, bytes), bytes});
    assert_int_equal(neutronSetConfig((NeutronConfig *)(uintptr_t)&copies), ENONE);
    uint8_t *first = run_image(&n, input, &size, a), *second = run_image(&n, input, &again, b);
    assert_int_equal(neutronSetConfig((NeutronConfig *)(uintptr_t)&none), ENONE);
    assert_int_equal(size, again);
    assert_memory_equal(first, second, size);
    assert_int_equal(a->staging_size, b->staging_size);
    assert_int_equal(a->fetches.bytes, b->fetches.bytes);
    assert_int_equal(a->fetches.cycles, b->fetches.cycles);
    assert_true(a->fetches.dma_cycles < b->fetches.dma_cycles);
    assert_int_equal(version_of(a), NUC_MC_VERSION);
    assert_int_equal(version_of(b), NUC_MC_VERSION_3);
    free(input);
    free(first);
    free(second);
}

struct merge_case {
    uint32_t seed;
    uint32_t saved; /* calls */
};

static void compare_merged(struct nuc_context *cx, void *arg)
{
    struct merge_case *c = arg;
    struct net n = random_net(cx, c->seed);
    struct nuc_neutron_image *merged, *separate;
    size_t size, size_all;
    int8_t *input = aligned((struct nuc_span){NULL, (size_t)nuc_lt_elements(tensor(&n, 0))});

    for (int64_t i = 0; i < nuc_lt_elements(tensor(&n, 0)); i++)
        input[i] = (int8_t)random_in(&n.seed, -128, 127);
    set_outputs(&n, false);
    uint8_t *a = run(&n, input, &size, &merged);
    set_outputs(&n, true);
    uint8_t *b = run(&n, input, &size_all, &separate);
    assert_int_equal(size, size_all);
    assert_memory_equal(a, b, size);
    assert_int_equal(separate->n_calls, separate_calls(&n));
    assert_true(merged->n_calls <= separate->n_calls);
    assert_true(merged->scratch_size >= merged->scratch_bound);
    c->saved += separate->n_calls - merged->n_calls;
    free(a);
    free(b);
    free(input);
}

static void merging_keeps_bytes(void **state)
{
    struct merge_case c = {0, 0};

    for (c.seed = 1; c.seed <= 400; c.seed++)
        run_in_context(compare_merged, &c);
    assert_true(c.saved > 400);
}

/* pad, conv, relu of one quantization, reshape: one call. */
static void one_call(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 5);
    const struct nuc_neutron_image **image = arg;

    add_pad(&n, (int32_t)tensor(&n, n.last)->quant.zero_point[0]);
    add_conv(&n);
    const struct nuc_lt_tensor y = *tensor(&n, n.last);
    step(&n, NUC_LT_RELU6, &n.last, 1, activation(&n, 1, y.shape[1], y.shape[2], y.shape[3], y.quant));
    add_reshape(&n);
    set_outputs(&n, false);
    *image = nuc_convert_litert(cx, n.m, NULL);
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
    struct net n = net_new(cx, 6);
    const struct nuc_lt_tensor x = *tensor(&n, 0);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3);
    const struct nuc_neutron_image *image;

    int32_t parts[2] = {add_pointwise(&n, 0, 4, quant), add_pointwise(&n, 0, 3, quant)};
    add_pointwise(&n, add_concat(&n, parts, 2, 3), 2, quant);
    set_outputs(&n, false);
    image = nuc_convert_litert(cx, n.m, NULL);
    assert_int_equal(image->n_calls, 3);
    assert_false(has_call(image, "COPY"));
    assert_int_equal(image->scratch_size, nuc_align_up((size_t)(x.shape[1] * x.shape[2] * 7), 16));
    assert_true(image->scratch_proven);
}

/* A sum writes over its operands, of which one was given a table: the scratch holds one tensor and what is added. */
static void in_place(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 7);
    const struct nuc_lt_tensor x = *tensor(&n, 0);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3), other = quantization(cx, 0.05f, -3);

    int32_t a = add_requantized(&n, add_pointwise(&n, 0, 5, quant), other), b = add_pointwise(&n, 0, 5, quant);
    add_pointwise(&n, add_elementwise(&n, NUC_LT_ADD, a, b, other), 2, quant);
    set_outputs(&n, false);
    const struct nuc_neutron_image *image = nuc_convert_litert(cx, n.m, NULL);
    assert_int_equal(image->n_calls, 4);
    assert_false(has_call(image, "LUT"));
    assert_int_equal(image->scratch_size, 2 * nuc_align_up((size_t)(x.shape[1] * x.shape[2] * 5), 16));
    assert_true(image->scratch_proven);
    /* As a call of its own the table is in place, too. */
    image = nuc_convert_litert(cx, n.m, &(struct nuc_convert_options){.revision_3 = true});
    assert_int_equal(image->n_calls, 5);
    assert_int_equal(image->scratch_size, 2 * nuc_align_up((size_t)(x.shape[1] * x.shape[2] * 5), 16));
}

static const char *disassembled(struct nuc_context *cx, const struct nuc_neutron_image *image)
{
    struct nuc_text text = {.cx = cx};

    nuc_disassemble(&text, image->microcode);
    return nuc_text_string(&text);
}

/* Both ways of converting give the same bytes. Returns the calls of the one with tables at the end of calls. */
static const struct nuc_neutron_image *same_with_tables(struct net *n)
{
    const struct nuc_lt_tensor x = *tensor(n, 0);
    const struct nuc_convert_options before = {.revision_3 = true};
    struct nuc_neutron_image *plain = nuc_convert_litert(n->cx, n->m, &before), *image;
    size_t size = (size_t)nuc_lt_elements(&x);
    uint8_t *input = aligned((struct nuc_span){(const uint8_t *)random_bytes(n, size), size});
    uint8_t *with = run(n, input, &size, &image), *without = run_image(n, input, &size, plain);

    assert_memory_equal(with, without, size);
    assert_int_equal(version_of(plain), NUC_MC_VERSION_3);
    free(input);
    free(with);
    free(without);
    return image;
}

/* x * sigmoid(x) behind a convolution is the table at the end of its call; so is a function of that. */
static void function_of_one_value(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 11);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3), gate = quantization(cx, 1.0f / 256, -128);

    int32_t x = add_pointwise(&n, 0, 5, quant);
    const struct nuc_lt_tensor t = *tensor(&n, x);
    int32_t sigmoid = activation(&n, 1, t.shape[1], t.shape[2], 5, gate);
    step(&n, NUC_LT_LOGISTIC, &x, 1, sigmoid);
    int32_t silu = add_elementwise(&n, NUC_LT_MUL, x, sigmoid, quantization(cx, 0.04f, -100));
    add_elementwise(&n, NUC_LT_SUB, silu, sigmoid, quant);
    set_outputs(&n, false);
    const struct nuc_neutron_image *image = same_with_tables(&n);
    assert_int_equal(image->n_calls, 1);
    assert_int_equal(version_of(image), NUC_MC_VERSION_4);
    assert_non_null(strstr(disassembled(cx, image), "\n    table    weights + 0x"));
}

/* A table at the end of each kind of call, also of one that writes rows of a concatenation. */
static void tables_at_the_end(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 12);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3), other = quantization(cx, 0.05f, -3);
    int32_t parts[2], axes[2] = {1, 2};

    int32_t x = add_pointwise(&n, 0, 5, quant), y = add_pointwise(&n, 0, 5, quant);
    parts[0] = add_requantized(&n, add_elementwise(&n, NUC_LT_ADD, x, y, quant), other);
    n.last = x;
    add_pool(&n, NUC_LT_MAX_POOL_2D);
    add_pad(&n, 3);
    parts[1] = add_requantized(&n, add_pointwise(&n, y, 3, quant), other);
    add_concat(&n, parts, 2, 3);
    int32_t concat = n.last;
    const struct nuc_lt_tensor t = *tensor(&n, concat);
    int32_t inputs[2] = {concat, integers(&n, axes, 2, 2)}, mean = activation(&n, 1, 1, 1, t.shape[3], other);
    step(&n, NUC_LT_MEAN, inputs, 2, mean)->options.reduce.keep_dims = true;
    add_elementwise(&n, NUC_LT_MUL, concat, add_requantized(&n, mean, quant), quant);
    add_requantized(&n, n.last, other);
    set_outputs(&n, false);
    assert_false(has_call(same_with_tables(&n), "LUT"));
}

/* Slices of channels are read where they lie, and so is a part of a concatenation by others. */
static void rows_are_read(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 13);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3);
    int32_t axes[2] = {1, 2}, halves[2], parts[3];

    int32_t x = add_pointwise(&n, 0, 8, quant);
    halves[0] = add_pointwise(&n, add_slice(&n, x, 3, 0, 3), 4, quant);
    halves[1] = add_elementwise(&n, NUC_LT_ADD, add_slice(&n, x, 3, 3, 4), halves[0], quant);
    parts[0] = add_concat(&n, halves, 2, 3);
    parts[1] = add_pointwise(&n, halves[0], 2, quant);
    n.last = halves[1];
    add_pad(&n, -128);
    add_pool(&n, NUC_LT_MAX_POOL_2D);
    const struct nuc_lt_tensor t = *tensor(&n, n.last);
    int32_t inputs[2] = {n.last, integers(&n, axes, 2, 2)}, mean = activation(&n, 1, 1, 1, t.shape[3], quant);
    step(&n, NUC_LT_MEAN, inputs, 2, mean)->options.reduce.keep_dims = true;
    /* A table of a slice that keeps its clamp to itself: the slice's source has other readers. */
    int32_t y = add_elementwise(&n, NUC_LT_MUL, halves[1], mean, quant), slice = add_slice(&n, x, 3, 4, 4);
    int32_t part = activation(&n, 1, tensor(&n, x)->shape[1], tensor(&n, x)->shape[2], 4, quant);
    step(&n, NUC_LT_RELU, &slice, 1, part);
    parts[2] = add_elementwise(&n, NUC_LT_ADD, y, part, quant);
    add_concat(&n, parts, 3, 3);
    add_pointwise(&n, n.last, 2, quant);
    set_outputs(&n, false);
    assert_false(has_call(same_with_tables(&n), "COPY"));
}

static int32_t add_view(struct net *n, int32_t from, const int32_t shape[4])
{
    int32_t y = activation(n, shape[0], shape[1], shape[2], shape[3], tensor(n, from)->quant);

    step(n, NUC_LT_RESHAPE, (const int32_t[]){from, integers(n, shape, 4, 4)}, 2, y);
    return y;
}

static int32_t add_permuted(struct net *n, int32_t from, const int32_t perm[4])
{
    const int32_t *x = tensor(n, from)->shape;
    int32_t y = activation(n, x[perm[0]], x[perm[1]], x[perm[2]], x[perm[3]], tensor(n, from)->quant);

    step(n, NUC_LT_TRANSPOSE, (const int32_t[]){from, integers(n, perm, 4, 4)}, 2, y);
    return y;
}

static int32_t add_product(struct net *n, int32_t a, int32_t b, struct nuc_lt_quant quant)
{
    const int32_t *x = tensor(n, a)->shape;
    int32_t y = activation(n, x[0], x[1], x[2], tensor(n, b)->shape[3], quant);

    step(n, NUC_LT_BATCH_MATMUL, (const int32_t[]){a, b}, 2, y);
    return y;
}

/*
 * Attention of two heads over slices of one layer. Each row: the order in which a slice is seen, and the copies that
 * are left of its slices and permutations: products read heads with strides, but windows and heads have two.
 */
static void heads_are_read(struct nuc_context *cx, void *arg)
{
    static const struct {
        bool merges_rows, merges_heads;
        uint32_t copies;
    } rows[] = {{true, false, 0}, {false, false, 3}, {false, true, 3}};

    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct net n = net_new(cx, 15 + i);
        struct nuc_lt_quant quant = quantization(cx, 0.06f, 3);
        int32_t x = add_pointwise(&n, 0, 3 * 6, quant), parts[3];
        const int32_t h = tensor(&n, x)->shape[1], w = tensor(&n, x)->shape[2];
        const int32_t seen[4] = {rows[i].merges_rows || rows[i].merges_heads ? 1 : h,
                                 rows[i].merges_rows    ? h * w
                                 : rows[i].merges_heads ? h
                                                        : w,
                                 rows[i].merges_heads ? w * 2 : 2, 3};
        for (int32_t k = 0; k < 3; k++) {
            int32_t part = add_view(&n, add_slice(&n, x, 3, 6 * k, 6), seen);
            part = add_permuted(&n, part, k == 1 ? (const int32_t[]){0, 2, 3, 1} : (const int32_t[]){0, 2, 1, 3});
            const int32_t *of = tensor(&n, part)->shape;
            parts[k] = add_view(&n, part, (const int32_t[]){1, of[0] * of[1], of[2], of[3]});
        }
        add_product(&n, add_product(&n, parts[0], parts[1], quant), parts[2], quant);
        set_outputs(&n, false);
        const struct nuc_neutron_image *image = same_with_tables(&n);
        assert_int_equal(image->n_calls, 3 + rows[i].copies);
    }
}

/* Features that each layer adds to those before: all lie in the last concatenation but the input, which is copied. */
static void nested_concatenations(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 14);
    struct nuc_lt_quant quant = tensor(&n, 0)->quant;
    int32_t features[5] = {0};
    uint32_t copies = 0;

    for (uint32_t i = 1; i < 5; i++) {
        int32_t all = i == 1 ? 0 : add_concat(&n, features, i, 3);
        features[i] = add_pointwise(&n, add_pointwise(&n, all, 9, quantization(cx, 0.06f, 3)), (int32_t)i, quant);
    }
    add_pointwise(&n, add_concat(&n, features, 5, 3), 2, quant);
    set_outputs(&n, false);
    const struct nuc_neutron_image *image = same_with_tables(&n);
    for (uint32_t i = 0; i < image->n_calls; i++)
        copies += strcmp(image->calls[i].opcode, "COPY") == 0;
    assert_true(copies <= 4); /* the input, for each concatenation */
    assert_int_equal(image->n_calls - copies, 9);
}

/* The branch that needs much memory for a short time runs before the one whose result is kept meanwhile. */
static void order_of_branches(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 8);
    const struct nuc_lt_tensor x = *tensor(&n, 0);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3);
    size_t pixels = (size_t)(x.shape[1] * x.shape[2]);

    int32_t kept = add_pointwise(&n, 0, 16, quant), large = add_pointwise(&n, 0, 64, quant);
    int32_t sum = add_elementwise(&n, NUC_LT_ADD, kept, add_pointwise(&n, large, 16, quant), quant);
    add_pointwise(&n, sum, 2, quant);
    set_outputs(&n, false);
    const struct nuc_neutron_image *image = nuc_convert_litert(cx, n.m, NULL);
    assert_int_equal(image->scratch_size, pixels * (64 + 16));
    assert_true(image->scratch_proven);
}

/* Both convolutions take the pad, so that nothing is left of it. */
static void shared_pad(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 9);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3);

    add_pad(&n, (int32_t)tensor(&n, 0)->quant.zero_point[0]);
    int32_t padded = n.last, parts[2] = {add_pointwise(&n, padded, 2, quant), add_pointwise(&n, padded, 2, quant)};
    add_concat(&n, parts, 2, 3);
    set_outputs(&n, false);
    assert_int_equal(nuc_convert_litert(cx, n.m, NULL)->n_calls, 2);
}

/* A clamp and a table go through the transposes and the slice before them. */
static void functions_behind_moves(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 10);
    struct nuc_lt_quant quant = quantization(cx, 0.06f, 3);

    add_pointwise(&n, 0, 4, quant);
    add_transpose(&n);
    const struct nuc_lt_tensor y = *tensor(&n, n.last);
    step(&n, NUC_LT_RELU6, &n.last, 1, activation(&n, 1, y.shape[1], y.shape[2], y.shape[3], quant));
    add_requantized(&n, n.last, quantization(cx, 0.05f, -3));
    add_transpose(&n);
    add_slice(&n, n.last, 1, 1, 2);
    add_requantized(&n, n.last, quant);
    set_outputs(&n, false);
    const struct nuc_neutron_image *image = nuc_convert_litert(cx, n.m, NULL);
    assert_int_equal(image->n_calls, 4); /* convolution with a table, copy, copy, copy */
}

static void unknown_operator(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 1);

    add_function(&n, 31);
    set_outputs(&n, false);
    nuc_convert_litert(cx, n.m, NULL);
}

static void float_tensor(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 1);

    add_function(&n, NUC_LT_RELU);
    tensor(&n, n.last)->dtype = NUC_F32;
    set_outputs(&n, false);
    nuc_convert_litert(cx, n.m, NULL);
}

static void short_constant(struct nuc_context *cx, void *arg)
{
    struct net n = net_new(cx, 1);

    add_conv(&n);
    tensor(&n, n.m->subgraphs[0].ops[0].inputs[1])->data.size--;
    set_outputs(&n, false);
    nuc_convert_litert(cx, n.m, NULL);
}

static void refusals_name_the_operator(void **state)
{
    expect_failure(unknown_operator, NULL, NUC_UNSUPPORTED, "operator 0 (BUILTIN_31): has no kernel");
    expect_failure(float_tensor, NULL, NUC_UNSUPPORTED, "operator 0 (RELU): tensor 't1' is float32");
    expect_failure(short_constant, NULL, NUC_BAD_INPUT, "bytes of data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_keeps_bytes),
        cmocka_unit_test(fetching_keeps_bytes),
        CONTEXT_TEST(fetching_begins_early),
        STATE_TEST(whole_block_is_one_call),
        CONTEXT_TEST(concat_of_two),
        CONTEXT_TEST(in_place),
        CONTEXT_TEST(function_of_one_value),
        CONTEXT_TEST(tables_at_the_end),
        CONTEXT_TEST(rows_are_read),
        CONTEXT_TEST(heads_are_read),
        CONTEXT_TEST(nested_concatenations),
        CONTEXT_TEST(order_of_branches),
        CONTEXT_TEST(shared_pad),
        CONTEXT_TEST(functions_behind_moves),
        cmocka_unit_test(refusals_name_the_operator),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
