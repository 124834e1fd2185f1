/*
 * Arrangement: one golden model for each kind of operator transposes move through, before and after, and random models
 * that compute the same bytes on the simulator before and after.
 */
#include "contexts.h"

#include "arrange_net.h"
#include "random.h"

typedef void (*builder)(struct nuc_ltb *d);

#define TO_LAST LIST(0, 2, 3, 1)
#define TO_FIRST LIST(0, 3, 1, 2)
#define NCHW LIST(1, 4, 5, 6)

static int32_t input(struct nuc_ltb *d)
{
    return value(d, "x", NCHW);
}

static void finish(struct nuc_ltb *d, int32_t x, int32_t y)
{
    boundaries(d->model, &x, 1, &y, 1);
}

/* Between the boundaries' transposes only operators of one value. */
static void chain(struct nuc_ltb *d)
{
    int32_t x = input(d), h = permuted(d, x, TO_LAST);

    h = unary(d, NUC_LT_RELU, h);
    h = unary(d, NUC_LT_QUANTIZE, h);
    finish(d, x, permuted(d, h, TO_FIRST));
}

/* conv(x) + x: the sum is cheaper where x is. */
static void residual(struct nuc_ltb *d)
{
    int32_t x = value(d, "x", LIST(1, 4, 6, 6)), y = value(d, "y", LIST(1, 4, 5, 5));
    int32_t h = convolved(d, permuted(d, x, TO_LAST));

    h = sum(d, h, permuted(d, y, TO_LAST));
    h = unary(d, NUC_LT_RELU, h);
    int32_t out = permuted(d, h, TO_FIRST);
    boundaries(d->model, (const int32_t[]){x, y}, 2, &out, 1);
}

static void broadcast(struct nuc_ltb *d)
{
    int32_t x = input(d), y = value(d, "y", LIST(1, 4, 1, 1));
    int32_t out = sum(d, permuted(d, x, TO_LAST), permuted(d, y, TO_LAST));

    out = sum(d, out, constant(d, LIST(4)));
    out = permuted(d, out, TO_FIRST);
    boundaries(d->model, (const int32_t[]){x, y}, 2, &out, 1);
}

static void slopes(struct nuc_ltb *d)
{
    int32_t x = input(d), h = permuted(d, x, TO_LAST), y = like(d, h);

    nuc_ltb_op(d, NUC_LT_PRELU, (const int32_t[]){h, constant(d, LIST(1, 1, 4))}, 2, y);
    finish(d, x, permuted(d, y, TO_FIRST));
}

static void concatenation(struct nuc_ltb *d)
{
    int32_t x = input(d), h = permuted(d, x, TO_LAST);

    finish(d, x, permuted(d, joined(d, h, constant(d, LIST(1, 5, 6, 2)), 3), TO_FIRST));
}

static void pads(struct nuc_ltb *d)
{
    int32_t x = input(d), h = permuted(d, x, TO_LAST);

    finish(d, x, permuted(d, padded(d, h, 1, 1, 2), TO_FIRST));
}

static void slices(struct nuc_ltb *d)
{
    int32_t x = input(d), h = permuted(d, x, TO_LAST);

    finish(d, x, permuted(d, sliced(d, h, 3, 1, 2), TO_FIRST));
}

static void reductions(struct nuc_ltb *d)
{
    int32_t x = input(d), h = reduced(d, permuted(d, x, TO_LAST), 1, true); /* over H */

    h = reduced(d, h, 2, false); /* over W: [1, 1, 4] */
    finish(d, x, h);
}

/* Behind the convolution the reduction leaves less to move. */
static void reduce_then_move(struct nuc_ltb *d)
{
    int32_t x = value(d, "x", LIST(1, 5, 6, 4)), h = permuted(d, convolved(d, x), TO_FIRST);

    finish(d, x, reduced(d, h, 2, false));
}

/* Softmax over the last dimension; the others change places. */
static void softmaxes(struct nuc_ltb *d)
{
    int32_t x = input(d), h = softmax(d, permuted(d, x, LIST(0, 2, 1, 3)));

    h = permuted(d, h, LIST(0, 2, 1, 3));
    nuc_ltb_at(d, h)->quant = parameters(d->cx, 1.0f / 256, -128);
    finish(d, x, h);
}

/* H and W become one dimension on the way: the reshape moves along. */
static void reshapes(struct nuc_ltb *d)
{
    int32_t x = input(d), h = reshaped(d, permuted(d, x, TO_LAST), LIST(1, 30, 4));

    finish(d, x, permuted(d, h, LIST(0, 2, 1)));
}

/* Weights after a flattening take any order. */
static void flattening(struct nuc_ltb *d)
{
    int32_t x = input(d), h = permuted(d, unary(d, NUC_LT_RELU, permuted(d, x, TO_LAST)), LIST(0, 2, 1, 3));

    finish(d, x, connected(d, reshaped(d, h, LIST(1, 120)), 7));
}

/* One channel: every order holds the same bytes. */
static void one_channel(struct nuc_ltb *d)
{
    int32_t x = value(d, "x", LIST(1, 1, 5, 6)), h = convolved(d, permuted(d, x, TO_LAST));

    finish(d, x, permuted(d, h, TO_FIRST));
}

/* A pooling of a small image: each channel is an image of its own, the other way would take two transposes. */
static void poolings(struct nuc_ltb *d)
{
    int32_t x = value(d, "x", LIST(2, 4, 5, 6));

    finish(d, x, permuted(d, pooled(d, permuted(d, x, TO_LAST)), TO_FIRST));
}

/* Large images of many channels: lanes that stay empty would take longer than transposes. */
static void large_pooling(struct nuc_ltb *d)
{
    int32_t x = value(d, "x", LIST(1, 64, 60, 60));

    finish(d, x, permuted(d, pooled(d, permuted(d, x, TO_LAST)), TO_FIRST));
}

/* Three readers in two orders: two transposes of x, not three. */
static void shared(struct nuc_ltb *d)
{
    int32_t x = value(d, "x", LIST(1, 5, 6, 4)), h = convolved(d, x);
    int32_t out[2] = {unary(d, NUC_LT_ABS, permuted(d, h, TO_FIRST)), unary(d, NUC_LT_RELU, permuted(d, h, TO_FIRST))};

    boundaries(d->model, &x, 1, out, 2);
}

static const struct {
    const char *name;
    builder build;
    const char *before, *after;
} goldens[] = {
    {"chain", chain, "TRANSPOSE 1x5x6x4, RELU 1x5x6x4, QUANTIZE 1x5x6x4, TRANSPOSE 1x4x5x6",
     "RELU 1x4x5x6, QUANTIZE 1x4x5x6"},
    {"residual", residual,
     "TRANSPOSE 1x6x6x4, TRANSPOSE 1x5x5x4, CONV_2D 1x5x5x4, ADD 1x5x5x4, RELU 1x5x5x4, TRANSPOSE 1x4x5x5",
     "TRANSPOSE 1x6x6x4, CONV_2D 1x5x5x4, TRANSPOSE 1x4x5x5, ADD 1x4x5x5, RELU 1x4x5x5"},
    {"broadcast", broadcast, "TRANSPOSE 1x1x1x4, TRANSPOSE 1x5x6x4, ADD 1x5x6x4, ADD 1x5x6x4, TRANSPOSE 1x4x5x6",
     "ADD 1x4x5x6, ADD 1x4x5x6"},
    {"slopes", slopes, "TRANSPOSE 1x5x6x4, PRELU 1x5x6x4, TRANSPOSE 1x4x5x6", "PRELU 1x4x5x6"},
    {"concatenation", concatenation, "TRANSPOSE 1x5x6x4, CONCATENATION 1x5x6x6, TRANSPOSE 1x6x5x6",
     "CONCATENATION 1x6x5x6"},
    {"pads", pads, "TRANSPOSE 1x5x6x4, PAD 1x8x6x4, TRANSPOSE 1x4x8x6", "PAD 1x4x8x6"},
    {"slices", slices, "TRANSPOSE 1x5x6x4, SLICE 1x5x6x2, TRANSPOSE 1x2x5x6", "SLICE 1x2x5x6"},
    {"reductions", reductions, "TRANSPOSE 1x5x6x4, REDUCE_MAX 1x1x6x4, REDUCE_MAX 1x1x4",
     "REDUCE_MAX 1x4x1x6, RESHAPE 1x1x4x6, REDUCE_MAX 1x1x4"},
    {"reduce, then move", reduce_then_move, "CONV_2D 1x4x5x4, TRANSPOSE 1x4x4x5, REDUCE_MAX 1x4x5",
     "CONV_2D 1x4x5x4, REDUCE_MAX 1x5x4, TRANSPOSE 1x4x5"},
    {"softmax", softmaxes, "TRANSPOSE 1x5x4x6, SOFTMAX 1x5x4x6, TRANSPOSE 1x4x5x6", "SOFTMAX 1x4x5x6"},
    {"reshapes", reshapes, "TRANSPOSE 1x5x6x4, RESHAPE 1x30x4, TRANSPOSE 1x4x30", "RESHAPE 1x4x30"},
    {"flattening", flattening, "TRANSPOSE 1x5x6x4, RELU 1x5x6x4, TRANSPOSE 1x6x5x4, RESHAPE 1x120, FULLY_CONNECTED 1x7",
     "RELU 1x4x5x6, RESHAPE 1x120, FULLY_CONNECTED 1x7"},
    {"one channel", one_channel, "TRANSPOSE 1x5x6x1, CONV_2D 1x4x5x1, TRANSPOSE 1x1x4x5",
     "RESHAPE 1x5x6x1, CONV_2D 1x4x5x1, RESHAPE 1x1x4x5"},
    {"poolings", poolings, "TRANSPOSE 2x5x6x4, MAX_POOL_2D 2x4x5x4, TRANSPOSE 2x4x4x5",
     "RESHAPE 8x5x6x1, MAX_POOL_2D 8x4x5x1, RESHAPE 2x4x4x5"},
    {"large pooling", large_pooling, "TRANSPOSE 1x60x60x64, MAX_POOL_2D 1x59x59x64, TRANSPOSE 1x64x59x59",
     "TRANSPOSE 1x60x60x64, MAX_POOL_2D 1x59x59x64, TRANSPOSE 1x64x59x59"},
    {"shared", shared, "CONV_2D 1x4x5x4, TRANSPOSE 1x4x4x5, TRANSPOSE 1x4x4x5, ABS 1x4x4x5, RELU 1x4x4x5",
     "CONV_2D 1x4x5x4, TRANSPOSE 1x4x4x5, ABS 1x4x4x5, RELU 1x4x4x5"},
};

static void sort(struct nuc_ltb *d)
{
    nuc_tidy_sort(d);
    nuc_lt_verify(d->model);
}

static void one_golden(struct nuc_context *cx, void *arg)
{
    size_t i = *(size_t *)arg;
    struct nuc_ltb *before = nuc_ltb_new(cx, "before"), *after = nuc_ltb_new(cx, "after");

    goldens[i].build(before);
    goldens[i].build(after);
    sort(before);
    assert_string_equal(listing(before), goldens[i].before);
    sort(after);
    nuc_arrange(after);
    nuc_lt_verify(after->model);
    assert_string_equal(listing(after), goldens[i].after);
    struct nuc_span a = run(before), b = run(after);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
}

static void golden_models(void **state)
{
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        if (nuc_try(cx, one_golden, &i) != NUC_OK)
            fail_msg("%s: %s", goldens[i].name, cx->message);
        nuc_context_free(cx);
    }
}

/* ---- models that stay as they are ---- */

/* Each side of a convolution-like operator needs its own transpose; equal bytes do not move. */
static void inherent_transposes_stay(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_ltb *d = nuc_ltb_new(cx, "m");
    int32_t x = input(d), h = unary(d, NUC_LT_RELU, permuted(d, x, TO_LAST));

    h = unary(d, NUC_LT_ABS, convolved(d, h));
    finish(d, x, permuted(d, h, TO_FIRST));
    const char *before = listing(d);
    nuc_arrange(d);
    assert_string_equal(listing(d), before);
}

/* ---- random models ---- */

struct pool {
    struct nuc_ltb *d;
    uint32_t seed;
    int32_t values[64];
    bool read[64];
    uint32_t count, n_inputs;
};

static int32_t pick(struct pool *p)
{
    /* Late values mostly, so that chains become long. */
    uint32_t last = p->count - 1, back = next_random(&p->seed) % 3;
    uint32_t i = next_random(&p->seed) % 4 == 0 ? next_random(&p->seed) % p->count : last - (back < last ? back : last);

    p->read[i] = true;
    return p->values[i];
}

static void keep(struct pool *p, int32_t tensor)
{
    p->values[p->count++] = tensor;
}

static int32_t random_permuted(struct pool *p, int32_t x)
{
    int32_t perm[NUC_MAX_RANK];
    int32_t rank = (int32_t)nuc_ltb_at(p->d, x)->rank;

    for (int32_t i = 0; i < rank; i++)
        perm[i] = i;
    for (int32_t i = rank - 1; i > 0; i--) {
        int32_t k = random_in(&p->seed, 0, i), held = perm[i];
        perm[i] = perm[k];
        perm[k] = held;
    }
    return permuted(p->d, x, perm, (uint32_t)rank);
}

/* A value of that shape, or of the shape with one dimension of size 1: an earlier one, else a constant. */
static int32_t partner(struct pool *p, int32_t x)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(p->d, x);
    int32_t shape[NUC_MAX_RANK];

    for (uint32_t i = 0; i < p->count; i++) {
        const struct nuc_lt_tensor *u = nuc_ltb_at(p->d, p->values[i]);
        if (p->values[i] != x && u->rank == t.rank && memcmp(u->shape, t.shape, t.rank * sizeof t.shape[0]) == 0 &&
            u->quant.scale[0] < 1) {
            p->read[i] = true;
            return p->values[i];
        }
    }
    memcpy(shape, t.shape, sizeof shape);
    for (uint32_t i = 0; i < t.rank; i++)
        shape[i] = next_random(&p->seed) % 2 ? 1 : shape[i];
    uint32_t drop = next_random(&p->seed) % t.rank;
    return constant(p->d, shape + drop, t.rank - drop);
}

/* The flat or split form of a shape: two neighbours joined. */
static int32_t random_reshaped(struct pool *p, int32_t x)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(p->d, x);
    int32_t shape[NUC_MAX_RANK];
    uint32_t at = t.rank > 1 ? next_random(&p->seed) % (t.rank - 1) : 0, rank = 0;

    if (t.rank < 3 || next_random(&p->seed) % 3 == 0) {
        memcpy(shape, t.shape, sizeof shape);
        rank = t.rank;
        for (; rank < 4; rank++) {
            memmove(shape + at + 1, shape + at, (rank - at) * sizeof *shape);
            shape[at] = 1;
        }
        return reshaped(p->d, x, shape, rank);
    }
    for (uint32_t i = 0; i < t.rank; i++) {
        shape[rank++] = t.shape[i];
        if (i == at + 1) {
            shape[rank - 2] *= shape[rank - 1];
            rank--;
        }
    }
    return reshaped(p->d, x, shape, rank);
}

static int32_t random_windowed(struct pool *p, int32_t x)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(p->d, x);

    return t->rank == 4 && t->shape[1] > 1 && t->shape[2] > 1
               ? (next_random(&p->seed) % 2 ? pooled(p->d, x) : convolved(p->d, x))
               : random_permuted(p, x);
}

static void add_random(struct pool *p)
{
    static const int32_t unaries[] = {NUC_LT_RELU, NUC_LT_ABS, NUC_LT_QUANTIZE, NUC_LT_LEAKY_RELU};
    int32_t x = pick(p);
    const struct nuc_lt_tensor t = *nuc_ltb_at(p->d, x);
    int32_t axis = random_in(&p->seed, 0, (int32_t)t.rank - 1);

    switch (next_random(&p->seed) % 12) {
    case 0:
    case 1:
        keep(p, unary(p->d, unaries[next_random(&p->seed) % 4], x));
        break;
    case 2:
        keep(p, sum(p->d, x, partner(p, x)));
        break;
    case 3:
        keep(p, joined(p->d, x, x, axis));
        break;
    case 4:
        keep(p, padded(p->d, x, axis, random_in(&p->seed, 0, 1), 1));
        break;
    case 5:
        keep(p, sliced(p->d, x, axis, t.shape[axis] / 2, t.shape[axis] - t.shape[axis] / 2));
        break;
    case 6:
        keep(p, t.rank > 2 ? reduced(p->d, x, axis, next_random(&p->seed) % 2) : random_permuted(p, x));
        break;
    case 7:
        keep(p, random_reshaped(p, x));
        break;
    case 8:
        keep(p, random_windowed(p, x));
        break;
    default:
        keep(p, random_permuted(p, x));
        break;
    }
}

/* An output for each value nothing reads; some of them through a matrix product. */
static void end(struct pool *p)
{
    int32_t outputs[64];
    uint32_t count = 0;

    for (uint32_t i = p->n_inputs; i < p->count; i++) {
        const struct nuc_lt_tensor t = *nuc_ltb_at(p->d, p->values[i]);
        if (p->read[i])
            continue;
        int32_t out = p->values[i], size = (int32_t)nuc_lt_elements(&t);
        if (t.rank > 2 && next_random(&p->seed) % 3 == 0)
            out = connected(p->d, reshaped(p->d, out, LIST(t.shape[0], size / t.shape[0])), 3);
        outputs[count++] = out;
    }
    boundaries(p->d->model, p->values, p->n_inputs, outputs, count);
}

static struct nuc_ltb *random_model(struct nuc_context *cx, uint32_t seed)
{
    struct pool p = {.d = nuc_ltb_new(cx, "random"), .seed = seed};
    int32_t steps = random_in(&p.seed, 3, 14);

    p.n_inputs = (uint32_t)random_in(&p.seed, 1, 2);
    for (uint32_t i = 0; i < p.n_inputs; i++)
        keep(&p, value(p.d, "x",
                       LIST(random_in(&p.seed, 1, 2), random_in(&p.seed, 1, 4), random_in(&p.seed, 1, 4),
                            random_in(&p.seed, 2, 5))));
    for (int32_t i = 0; i < steps; i++)
        add_random(&p);
    end(&p);
    return p.d;
}

struct totals {
    uint32_t seed;
    uint64_t before, after;
};

static void compare_random(struct nuc_context *cx, void *arg)
{
    struct totals *t = arg;
    struct nuc_ltb *before = random_model(cx, t->seed), *after = random_model(cx, t->seed);

    nuc_tidy(before);
    sort(before);
    nuc_tidy(after);
    nuc_arrange(after);
    nuc_lt_remove_dead(after->model);
    nuc_lt_verify(after->model);
    struct nuc_moved a = nuc_moved_by_transposes(before->model), b = nuc_moved_by_transposes(after->model);
    assert_true(b.bytes <= a.bytes);
    t->before += a.bytes;
    t->after += b.bytes;
    struct nuc_span out_a = run(before), out_b = run(after);
    assert_int_equal(out_a.size, out_b.size);
    if (memcmp(out_a.data, out_b.data, out_a.size) != 0)
        nuc_fail(cx, NUC_INTERNAL, "%s\n  became\n%s", listing(before), listing(after));
}

static void random_models_keep_their_bytes(void **state)
{
    struct totals t = {0, 0, 0};

    for (t.seed = 1; t.seed <= 2000; t.seed++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        if (nuc_try(cx, compare_random, &t) != NUC_OK)
            fail_msg("model %u: %s", t.seed, cx->message);
        nuc_context_free(cx);
    }
    assert_true(t.after * 10 < t.before * 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_models),
        STATE_TEST(inherent_transposes_stay),
        cmocka_unit_test(random_models_keep_their_bytes),
    };

    neutronInit();
    return cmocka_run_group_tests_name("arrange", tests, NULL, NULL);
}
