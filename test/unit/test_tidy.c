/* Steps of tidying on models built by hand: what they remove, what they must not, and that data move along. */
#include "contexts.h"
#include "lt_boundaries.h"

#include "npu/arrange/arrange.h"
#include "npu/arrange/tidy.h"

static int32_t value(struct nuc_ltb *d, const char *name, enum nuc_ltb_format format, uint32_t rank,
                     const int32_t *shape)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = NUC_I8, .rank = rank};

    memcpy(t.shape, shape, rank * sizeof *shape);
    return nuc_ltb_add(d, &t, format);
}

static const int32_t nchw[4] = {1, 2, 3, 4};
static const int32_t nhwc[4] = {1, 3, 4, 2};
static const int32_t to_last[4] = {0, 2, 3, 1};
static const int32_t to_first[4] = {0, 3, 1, 2};

static const int32_t *perm_of(const struct nuc_ltb *d, uint32_t op)
{
    return (const int32_t *)(const void *)nuc_ltb_at(d, nuc_ltb_graph(d)->ops[op].inputs[1])->data.data;
}

/* ---- permutations ---- */

static void test_permutations(void **state)
{
    int32_t a[5], b[5], c[5];
    static const int32_t first_5[5] = {0, 4, 1, 2, 3};
    static const int32_t last_5[5] = {0, 2, 3, 4, 1};

    nuc_perm_to_first(a, 5);
    assert_memory_equal(a, first_5, sizeof a);
    nuc_perm_to_last(b, 5);
    assert_memory_equal(b, last_5, sizeof b);
    nuc_perm_apply(c, a, b, 5);
    assert_true(nuc_perm_is_identity(c, 5));
    nuc_perm_inverse(c, a, 5);
    assert_memory_equal(c, b, sizeof c);
    nuc_perm_apply(c, first_5, last_5, 5);
    assert_int_equal(c[1], 1);
}

/* Element [n][h][w][c] of the result is element [n][c][h][w] of the source, whatever the element size. */
static void test_permute_data(void **state)
{
    static const int32_t shape[4] = {2, 3, 4, 5};
    int32_t source[2 * 3 * 4 * 5];

    for (int32_t i = 0; i < 120; i++)
        source[i] = i * 1000003;
    const int32_t *out = nuc_permute_data(*state, source, sizeof source[0], shape, 4, to_last);
    for (int n = 0; n < 2; n++) {
        for (int c = 0; c < 3; c++) {
            for (int h = 0; h < 4; h++) {
                for (int w = 0; w < 5; w++)
                    assert_int_equal(out[((n * 4 + h) * 5 + w) * 3 + c], source[((n * 3 + c) * 4 + h) * 5 + w]);
            }
        }
    }
}

/* ---- names ---- */

static void test_names(void **state)
{
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    int32_t a = value(d, "a", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t b = value(d, "b", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t c = value(d, "c", NUC_LTB_FORMATLESS, 4, nchw);

    assert_string_equal(nuc_ltb_at(d, value(d, "a", NUC_LTB_NONE, 4, nchw))->name, "a0");
    assert_string_equal(nuc_ltb_at(d, nuc_ltb_duplicate(d, a, "", false))->name, "a1");
    assert_string_equal(nuc_ltb_at(d, nuc_ltb_duplicate(d, a, "_padded", false))->name, "a_padded");
    nuc_ltb_redirect(d, b, a); /* a is read for b and has its name */
    nuc_ltb_redirect(d, a, c); /* c is read for both */
    assert_int_equal(nuc_ltb_root(d, b), c);
    assert_string_equal(nuc_ltb_at(d, c)->name, "b");
    for (int i = 0; i < 500; i++)
        value(d, "many", NUC_LTB_NONE, 4, nchw);
    assert_string_equal(nuc_ltb_at(d, value(d, "many", NUC_LTB_NONE, 4, nchw))->name, "many499");
    value(d, "few", NUC_LTB_NONE, 4, nchw);
    value(d, "few1", NUC_LTB_NONE, 4, nchw);
    assert_string_equal(nuc_ltb_at(d, value(d, "few", NUC_LTB_NONE, 4, nchw))->name, "few0");
    assert_string_equal(nuc_ltb_at(d, value(d, "few", NUC_LTB_NONE, 4, nchw))->name, "few2");
}

/* ---- steps ---- */

/* x -> T -> y -> {T -> z, T -> v}: both read x, one becomes an identity and goes. */
static void test_fuse(void **state)
{
    static const int32_t hw_swapped[4] = {0, 2, 1, 3};
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    int32_t x = value(d, "x", NUC_LTB_CHANNELS_LAST, 4, nhwc);
    int32_t y = value(d, "y", NUC_LTB_CHANNELS_FIRST, 4, nchw);
    int32_t z = value(d, "z", NUC_LTB_CHANNELS_LAST, 4, nhwc);
    int32_t v = value(d, "v", NUC_LTB_FORMATLESS, 4, (const int32_t[]){1, 3, 2, 4});
    int32_t out = value(d, "out", NUC_LTB_CHANNELS_LAST, 4, nhwc);

    nuc_ltb_transpose(d, x, y, to_first);
    nuc_ltb_transpose(d, y, z, to_last);
    nuc_ltb_transpose(d, y, v, hw_swapped);
    nuc_ltb_op(d, NUC_LT_RELU, &z, 1, out);
    boundaries(d->model, &x, 1, (const int32_t[]){out, v}, 2);
    assert_true(nuc_tidy_fuse_transposes(d));
    struct nuc_lt_subgraph *s = nuc_ltb_graph(d);
    assert_int_equal(s->n_ops, 3);
    assert_int_equal(s->ops[0].inputs[0], x);
    assert_true(nuc_perm_is_identity(perm_of(d, 0), 4));
    assert_int_equal(s->ops[1].inputs[0], x);
    for (int i = 0; i < 4; i++)
        assert_int_equal(perm_of(d, 1)[i], to_first[hw_swapped[i]]);
    assert_memory_equal(nuc_ltb_at(d, v)->shape, ((const int32_t[]){1, 3, 2, 4}), 16);
    nuc_tidy(d);
    assert_int_equal(s->n_ops, 2);
    assert_int_equal(s->ops[1].code, NUC_LT_RELU);
    assert_int_equal(s->ops[1].inputs[0], x);
}

static void test_fuse_is_not_done(void **state)
{
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    int32_t x = value(d, "x", NUC_LTB_CHANNELS_LAST, 4, nhwc);
    int32_t y = value(d, "y", NUC_LTB_CHANNELS_FIRST, 4, nchw);
    int32_t z = value(d, "z", NUC_LTB_CHANNELS_LAST, 4, nhwc);
    int32_t other = value(d, "other", NUC_LTB_CHANNELS_FIRST, 4, nchw);

    nuc_ltb_transpose(d, x, y, to_first);
    nuc_ltb_transpose(d, y, z, to_last);
    boundaries(d->model, &x, 1, (const int32_t[]){z, y}, 2); /* y is an output */
    assert_false(nuc_tidy_fuse_transposes(d));
    nuc_ltb_op(d, NUC_LT_RELU, &y, 1, other); /* y has another reader */
    boundaries(d->model, &x, 1, (const int32_t[]){z, other}, 2);
    assert_false(nuc_tidy_fuse_transposes(d));
    assert_int_equal(nuc_ltb_graph(d)->n_ops, 3);
}

/* An identity at a boundary leaves the boundary its name. */
static void test_identities(void **state)
{
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    int32_t x = value(d, "x", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t a = value(d, "a", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t b = value(d, "b", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t y = value(d, "y", NUC_LTB_CHANNELS_FIRST, 4, nchw);

    nuc_ltb_identity(d, x, a);
    nuc_ltb_op(d, NUC_LT_RELU, &a, 1, b);
    nuc_ltb_identity(d, b, y);
    boundaries(d->model, &x, 1, &y, 1);
    assert_true(nuc_tidy_remove_identities(d));
    struct nuc_lt_subgraph *s = nuc_ltb_graph(d);
    assert_int_equal(s->n_ops, 1);
    assert_int_equal(s->ops[0].inputs[0], x);
    assert_int_equal(s->outputs[0], b);
    assert_string_equal(nuc_ltb_at(d, b)->name, "y");
    assert_int_equal(nuc_ltb_format(d, b), NUC_LTB_CHANNELS_FIRST);
    assert_false(nuc_tidy_remove_identities(d));
}

static void test_identities_stay(void **state)
{
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    int32_t x = value(d, "x", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t y = value(d, "y", NUC_LTB_FORMATLESS, 4, nchw);

    nuc_ltb_identity(d, x, y);
    boundaries(d->model, &x, 1, &y, 1); /* input straight to output */
    assert_false(nuc_tidy_remove_identities(d));

    d = nuc_ltb_new(*state, "m");
    x = value(d, "x", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t a = value(d, "a", NUC_LTB_FORMATLESS, 4, nchw);
    y = value(d, "y", NUC_LTB_FORMATLESS, 4, nchw);
    nuc_ltb_op(d, NUC_LT_RELU, &x, 1, a);
    nuc_ltb_identity(d, a, y);
    boundaries(d->model, &x, 1, (const int32_t[]){a, y}, 2); /* two outputs */
    assert_false(nuc_tidy_remove_identities(d));

    d = nuc_ltb_new(*state, "m");
    y = value(d, "y", NUC_LTB_FORMATLESS, 1, (const int32_t[]){3});
    int32_t constant = nuc_ltb_list(d, "c", (const int32_t[]){7, 8, 9}, 3);
    nuc_ltb_identity(d, constant, y);
    boundaries(d->model, NULL, 0, &y, 1); /* an output must be produced */
    assert_false(nuc_tidy_remove_identities(d));
}

/* TRANSPOSE -> RESHAPE -> FULLY_CONNECTED; x is [1, H, W, C] with H 3, W 4, C 2. */
static struct nuc_ltb *flattened(struct nuc_context *cx, int32_t *weights)
{
    struct nuc_ltb *d = nuc_ltb_new(cx, "m");
    int8_t data[2 * 24];
    int32_t x = value(d, "x", NUC_LTB_CHANNELS_LAST, 4, nhwc);
    int32_t h = value(d, "h", NUC_LTB_CHANNELS_LAST, 4, nhwc);
    int32_t y = value(d, "y", NUC_LTB_CHANNELS_FIRST, 4, nchw);
    int32_t z = value(d, "z", NUC_LTB_FORMATLESS, 2, (const int32_t[]){1, 24});
    int32_t out = value(d, "out", NUC_LTB_FORMATLESS, 2, (const int32_t[]){1, 2});

    for (int i = 0; i < 48; i++)
        data[i] = (int8_t)i;
    *weights = nuc_ltb_constant(d, "w", NUC_I8, (const int32_t[]){2, 24}, 2, data);
    nuc_ltb_op(d, NUC_LT_RELU, &x, 1, h);
    nuc_ltb_transpose(d, h, y, to_first);
    nuc_ltb_op(d, NUC_LT_RESHAPE, &y, 1, z);
    nuc_ltb_op(d, NUC_LT_FULLY_CONNECTED, (const int32_t[]){z, *weights}, 2, out);
    boundaries(d->model, &x, 1, &out, 1);
    return d;
}

static void test_permute_weights(void **state)
{
    int32_t old;
    struct nuc_ltb *d = flattened(*state, &old);

    assert_true(nuc_tidy_permute_weights(d));
    struct nuc_lt_subgraph *s = nuc_ltb_graph(d);
    assert_int_equal(s->n_ops, 3);
    assert_int_equal(s->ops[1].code, NUC_LT_RESHAPE);
    assert_int_equal(s->ops[1].inputs[0], s->ops[0].outputs[0]);
    assert_int_not_equal(s->ops[2].inputs[1], old);
    const uint8_t *w = nuc_ltb_at(d, s->ops[2].inputs[1])->data.data;
    for (int o = 0; o < 2; o++) {
        for (int h = 0; h < 3; h++) {
            for (int x = 0; x < 4; x++) {
                for (int c = 0; c < 2; c++)
                    assert_int_equal(w[((o * 3 + h) * 4 + x) * 2 + c], ((o * 2 + c) * 3 + h) * 4 + x);
            }
        }
    }
    assert_int_equal(nuc_ltb_at(d, old)->data.data[1], 1); /* the old weights are as they were */
}

static void test_permute_weights_is_not_done(void **state)
{
    int32_t weights;
    struct nuc_ltb *d = flattened(*state, &weights);

    nuc_ltb_at(d, weights)->data.data = NULL; /* not constant */
    assert_false(nuc_tidy_permute_weights(d));
    d = flattened(*state, &weights);
    int32_t z = nuc_ltb_graph(d)->ops[2].outputs[0];
    boundaries(d->model, nuc_ltb_graph(d)->inputs, 1, (const int32_t[]){nuc_ltb_graph(d)->outputs[0], z}, 2);
    assert_false(nuc_tidy_permute_weights(d)); /* the flat value is read outside, too */
    d = flattened(*state, &weights);
    d->notes[nuc_ltb_graph(d)->ops[0].outputs[0]].format = NUC_LTB_FORMATLESS;
    assert_false(nuc_tidy_permute_weights(d)); /* a transpose of the user's own */
}

/* ---- products of weights that have a scale for each output ---- */

static const float row_scales[2] = {0.5f, 0.125f}, half = 0.5f;
static const int64_t row_zeros[2] = {0, 0}, zero_points[1] = {3};

/* RELU [3, 4] -> FULLY_CONNECTED [3, 2] -> RELU, weights of `n_scales` scales. */
static struct nuc_ltb *product(struct nuc_context *cx, uint32_t n_scales)
{
    struct nuc_ltb *d = nuc_ltb_new(cx, "m");
    static const int8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int32_t x = value(d, "x", NUC_LTB_FORMATLESS, 2, (const int32_t[]){3, 4});
    int32_t h = value(d, "h", NUC_LTB_FORMATLESS, 2, (const int32_t[]){3, 4});
    int32_t y = value(d, "y", NUC_LTB_FORMATLESS, 2, (const int32_t[]){3, 2});
    int32_t out = value(d, "out", NUC_LTB_FORMATLESS, 2, (const int32_t[]){3, 2});
    int32_t w = nuc_ltb_constant(d, "w", NUC_I8, (const int32_t[]){2, 4}, 2, data);

    nuc_ltb_quantize(d, h, &(struct nuc_lt_quant){1, &half, zero_points, 0});
    nuc_ltb_quantize(d, w, &(struct nuc_lt_quant){n_scales, row_scales, row_zeros, 0});
    nuc_ltb_op(d, NUC_LT_RELU, &x, 1, h);
    nuc_ltb_op(d, NUC_LT_FULLY_CONNECTED, (const int32_t[]){h, w}, 2, y);
    nuc_ltb_op(d, NUC_LT_RELU, &y, 1, out);
    boundaries(d->model, &x, 1, &out, 1);
    return d;
}

static void test_products_become_convolutions(void **state)
{
    static const int32_t codes[] = {NUC_LT_RELU, NUC_LT_RESHAPE, NUC_LT_CONV_2D, NUC_LT_RESHAPE, NUC_LT_RELU};
    static const int32_t image[4] = {1, 3, 1, 4}, result[4] = {1, 3, 1, 2}, kernel[4] = {2, 1, 1, 4};
    struct nuc_ltb *d = product(*state, 2);

    nuc_products_to_convolutions(d);
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(d);
    assert_int_equal(s->n_ops, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(s->ops[i].code, codes[i]);
    const struct nuc_lt_op *conv = &s->ops[2];
    assert_int_equal(s->ops[1].inputs[0], s->ops[0].outputs[0]);
    assert_int_equal(s->ops[3].outputs[0], s->ops[4].inputs[0]);
    assert_memory_equal(nuc_ltb_at(d, conv->inputs[0])->shape, image, sizeof image);
    assert_memory_equal(nuc_ltb_at(d, conv->outputs[0])->shape, result, sizeof result);
    const struct nuc_lt_tensor *w = nuc_ltb_at(d, conv->inputs[1]), *b = nuc_ltb_at(d, conv->inputs[2]);
    assert_memory_equal(w->shape, kernel, sizeof kernel);
    assert_int_equal(w->data.data[7], 8);
    assert_int_equal(w->quant.count, 2);
    assert_int_equal(w->quant.axis, 0);
    assert_int_equal(b->quant.count, 2);
    assert_float_equal(b->quant.scale[1], 0.0625f, 0);
}

static void test_products_of_one_scale_stay(void **state)
{
    struct nuc_ltb *d = product(*state, 1);

    nuc_products_to_convolutions(d);
    assert_int_equal(nuc_ltb_graph(d)->n_ops, 3);
    assert_int_equal(nuc_ltb_graph(d)->ops[1].code, NUC_LT_FULLY_CONNECTED);
}

/* ---- order, dead tensors ---- */

static void test_sort(void **state)
{
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    int32_t t[5];

    for (int i = 0; i < 5; i++)
        t[i] = value(d, "t", NUC_LTB_FORMATLESS, 4, nchw);
    nuc_ltb_op(d, NUC_LT_ADD, (const int32_t[]){t[2], t[2]}, 2, t[3]);
    nuc_ltb_op(d, NUC_LT_RELU, &t[0], 1, t[1]);
    nuc_ltb_op(d, NUC_LT_RELU6, &t[1], 1, t[2]);
    nuc_ltb_op(d, NUC_LT_TANH, &t[0], 1, t[4]);
    nuc_tidy_sort(d);
    const struct nuc_lt_op *ops = nuc_ltb_graph(d)->ops;
    assert_int_equal(ops[0].code, NUC_LT_RELU);
    assert_int_equal(ops[1].code, NUC_LT_TANH);
    assert_int_equal(ops[2].code, NUC_LT_RELU6);
    assert_int_equal(ops[3].code, NUC_LT_ADD);
}

static void sort(struct nuc_context *cx, void *builder)
{
    nuc_tidy_sort(builder);
}

static void test_sort_finds_loops(void **state)
{
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    int32_t a = value(d, "a", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t b = value(d, "b", NUC_LTB_FORMATLESS, 4, nchw);

    nuc_ltb_op(d, NUC_LT_RELU, &a, 1, b);
    nuc_ltb_op(d, NUC_LT_RELU, &b, 1, a);
    assert_int_equal(nuc_try(*state, sort, d), NUC_INTERNAL);
}

static void test_remove_dead(void **state)
{
    struct nuc_ltb *d = nuc_ltb_new(*state, "m");
    value(d, "dead", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t x = value(d, "x", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t unused = value(d, "unused", NUC_LTB_FORMATLESS, 4, nchw);
    int32_t y = value(d, "y", NUC_LTB_FORMATLESS, 4, nchw);

    nuc_ltb_op(d, NUC_LT_RELU, (const int32_t[]){x, -1}, 2, y);
    boundaries(d->model, (const int32_t[]){unused, x}, 2, &y, 1);
    nuc_lt_remove_dead(d->model);
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(d);
    assert_int_equal(s->n_tensors, 3);
    assert_string_equal(s->tensors[s->inputs[0]].name, "unused");
    assert_string_equal(s->tensors[s->ops[0].inputs[0]].name, "x");
    assert_int_equal(s->ops[0].inputs[1], -1);
    assert_string_equal(s->tensors[s->outputs[0]].name, "y");
}

RUN_TESTS(STATE_TEST(test_permutations), STATE_TEST(test_permute_data), STATE_TEST(test_names), STATE_TEST(test_fuse),
          STATE_TEST(test_fuse_is_not_done), STATE_TEST(test_identities), STATE_TEST(test_identities_stay),
          STATE_TEST(test_permute_weights), STATE_TEST(test_permute_weights_is_not_done),
          STATE_TEST(test_products_become_convolutions), STATE_TEST(test_products_of_one_scale_stay),
          STATE_TEST(test_sort), STATE_TEST(test_sort_finds_loops), STATE_TEST(test_remove_dead))
