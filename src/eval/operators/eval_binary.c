/* Functions of two elements, broadcast: sums, products, quotients, maxima. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/eval_call.h"

/* Elements of a row converted to float32 at a time. */
#define CHUNK 256

/* n elements; a and b advance by their steps. */
typedef void (*float_row_fn)(const float *a, size_t a_step, const float *b, size_t b_step, float alpha, float *out,
                             size_t n);

typedef uint64_t (*integer_fn)(uint64_t a, uint64_t b, uint64_t alpha);

/* ---- functions ---- */

/* Towards 0; by 0, where torch has an error, it is 0. */
static uint64_t quotient(uint64_t a, uint64_t b)
{
    uint64_t size_a = (int64_t)a < 0 ? 0 - a : a, size_b = (int64_t)b < 0 ? 0 - b : b;
    uint64_t q = b == 0 ? 0 : size_a / size_b;

    return ((int64_t)a < 0) == ((int64_t)b < 0) ? q : 0 - q;
}

/* The sign is that of a. */
static uint64_t rest(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a - quotient(a, b) * b;
}

/* Whether what is left of a division towards 0 has to be counted from the other side. */
static bool rounds_up(uint64_t a, uint64_t b)
{
    uint64_t left = rest(a, b);

    return left != 0 && ((int64_t)left < 0) != ((int64_t)b < 0);
}

static bool float_rounds_up(float left, float b)
{
    return (left < 0.0f || left > 0.0f) && (left < 0.0f) != (b < 0.0f);
}

static float float_remainder(float a, float b)
{
    float left = fmodf(a, b);

    return float_rounds_up(left, b) ? left + b : left;
}

/* torch's: what is left is taken away before the division, whose result is rounded to the nearest whole number. */
static float float_floor_divide(float a, float b)
{
    if (!(b < 0.0f || b > 0.0f))
        return a / b;
    float left = fmodf(a, b);
    float q = (a - left) / b - (float_rounds_up(left, b) ? 1.0f : 0.0f);
    if (!(q < 0.0f || q > 0.0f))
        return q + copysignf(0.0f, a / b);
    return q - floorf(q) > 0.5f ? floorf(q) + 1.0f : floorf(q);
}

static uint64_t integer_power(uint64_t a, uint64_t b)
{
    uint64_t result = 1;

    if ((int64_t)b < 0) {
        bool odd = (b & 1) != 0;
        return a == 1 ? 1 : a + 1 == 0 ? (odd ? a : 1) : 0;
    }
    for (int bit = 63; bit >= 0; bit--)
        result = result * result * ((b >> bit & 1) != 0 ? a : 1);
    return result;
}

static uint64_t shifted_right(uint64_t a, uint64_t b)
{
    uint64_t by = b > 63 ? 63 : b, sign = (int64_t)a < 0 ? UINT64_MAX : 0;

    return ((a ^ sign) >> by) ^ sign;
}

static bool is_true(float x)
{
    return x < 0.0f || x > 0.0f || x != x;
}

static bool equal(float a, float b)
{
    return a <= b && a >= b;
}

/*
 * One row per function: the operator, its value of floats and of integers, which wrap around as in torch; FLOATS where
 * integers are converted to float32, INTEGERS where there is no value of floats. NaN of either side stays the larger
 * and the smaller. A truth is 1 or 0.
 */
#define FUNCTIONS(ROW, FLOATS, INTEGERS)                                                                               \
    ROW(ADD, a + b, a + b * alpha)                                                                                     \
    ROW(SUB, a - b, a - b * alpha)                                                                                     \
    ROW(MUL, a *b, a *b)                                                                                               \
    ROW(MAXIMUM, a > b || a != a ? a : b, (int64_t)a > (int64_t)b ? a : b)                                             \
    ROW(MINIMUM, a < b || a != a ? a : b, (int64_t)a < (int64_t)b ? a : b)                                             \
    FLOATS(DIV, a / b)                                                                                                 \
    FLOATS(PRELU, a > 0.0f ? a : b * a)                                                                                \
    FLOATS(ATAN2, (float)atan2((double)a, (double)b))                                                                  \
    ROW(DIV_MODE, truncf(a / b), quotient(a, b))                                                                       \
    ROW(FLOOR_DIVIDE, float_floor_divide(a, b), quotient(a, b) - (rounds_up(a, b) ? 1 : 0))                            \
    ROW(FMOD, fmodf(a, b), rest(a, b))                                                                                 \
    ROW(REMAINDER, float_remainder(a, b), rest(a, b) + (rounds_up(a, b) ? b : 0))                                      \
    ROW(POW, (float)pow((double)a, (double)b), integer_power(a, b))                                                    \
    INTEGERS(BITWISE_AND, a &b)                                                                                        \
    INTEGERS(BITWISE_OR, a | b)                                                                                        \
    INTEGERS(BITWISE_XOR, a ^ b)                                                                                       \
    INTEGERS(BITWISE_LEFT_SHIFT, b > 63 ? 0 : a << b)                                                                  \
    INTEGERS(BITWISE_RIGHT_SHIFT, shifted_right(a, b))                                                                 \
    ROW(EQ, equal(a, b) ? 1.0f : 0.0f, a == b)                                                                         \
    ROW(NE, equal(a, b) ? 0.0f : 1.0f, a != b)                                                                         \
    ROW(LT, a < b ? 1.0f : 0.0f, (int64_t)a < (int64_t)b)                                                              \
    ROW(LE, a <= b ? 1.0f : 0.0f, (int64_t)a <= (int64_t)b)                                                            \
    ROW(GT, a > b ? 1.0f : 0.0f, (int64_t)a > (int64_t)b)                                                              \
    ROW(GE, a >= b ? 1.0f : 0.0f, (int64_t)a >= (int64_t)b)                                                            \
    ROW(LOGICAL_AND, is_true(a) && is_true(b) ? 1.0f : 0.0f, a != 0 && b != 0)                                         \
    ROW(LOGICAL_OR, is_true(a) || is_true(b) ? 1.0f : 0.0f, a != 0 || b != 0)                                          \
    ROW(LOGICAL_XOR, is_true(a) != is_true(b) ? 1.0f : 0.0f, (a != 0) != (b != 0))

/* The loop of a function; one whose steps are known to be 1 becomes vector code. */
#define FLOAT_LOOP(name, value)                                                                                        \
    static void floats_##name(const float *as, size_t a_step, const float *bs, size_t b_step, float alpha, float *out, \
                              size_t n)                                                                                \
    {                                                                                                                  \
        (void)alpha;                                                                                                   \
        if (a_step == 1 && b_step == 1) {                                                                              \
            for (size_t i = 0; i < n; i++) {                                                                           \
                const float a = as[i], b = bs[i];                                                                      \
                (void)b;                                                                                               \
                out[i] = value;                                                                                        \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const float a = as[i * a_step], b = bs[i * b_step];                                                        \
            (void)b;                                                                                                   \
            out[i] = value;                                                                                            \
        }                                                                                                              \
    }

#define INTEGER_FUNCTION(name, value)                                                                                  \
    static uint64_t integers_##name(uint64_t a, uint64_t b, uint64_t alpha)                                            \
    {                                                                                                                  \
        (void)alpha;                                                                                                   \
        return value;                                                                                                  \
    }
#define FUNCTION(name, value, integer)                                                                                 \
    FLOAT_LOOP(name, value)                                                                                            \
    INTEGER_FUNCTION(name, integer)
FUNCTIONS(FUNCTION, FLOAT_LOOP, INTEGER_FUNCTION)

/* A sum with a factor is rounded once, as torch's fused multiply-add. */
FLOAT_LOOP(scaled_sum, fmaf(alpha, b, a))

/* Powers that torch takes by multiplications and roots. */
FLOAT_LOOP(square, a *a)
FLOAT_LOOP(cube, a *a *a)
FLOAT_LOOP(root, sqrtf(a))
FLOAT_LOOP(inverse_root, 1.0f / sqrtf(a))
FLOAT_LOOP(inverse, 1.0f / a)
FLOAT_LOOP(inverse_square, 1.0f / (a * a))

static float_row_fn power_loop(double exponent)
{
    static const struct {
        double exponent;
        float_row_fn fn;
    } rows[] = {{2.0, floats_square},        {3.0, floats_cube},     {0.5, floats_root},
                {-0.5, floats_inverse_root}, {-1.0, floats_inverse}, {-2.0, floats_inverse_square}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].exponent <= exponent && rows[i].exponent >= exponent)
            return rows[i].fn;
    }
    return floats_POW;
}

struct binary_row {
    float_row_fn floats; /* NULL: floats are refused */
    integer_fn integers; /* NULL: integer operands are converted to float32 */
};

#define ROW(name, value, integer) [NUC_OP_##name] = {floats_##name, integers_##name},
#define FLOATS(name, value) [NUC_OP_##name] = {floats_##name, NULL},
#define INTEGERS(name, value) [NUC_OP_##name] = {NULL, integers_##name},
static const struct binary_row binary_rows[NUC_OP_COUNT] = {FUNCTIONS(ROW, FLOATS, INTEGERS)};

/* ---- rows ---- */

struct binary {
    float_row_fn floats;
    integer_fn integers; /* NULL: it is computed as float32 */
    double alpha;
    bool dense;   /* operands and result have one shape: a single row */
    float number; /* where an operand is one */
    int64_t whole;
    enum nuc_dtype dtypes[2];
    size_t strides[2][NUC_MAX_RANK];
};

struct operand {
    enum nuc_dtype dtype;
    const char *data;
    size_t step;
};

static void bind_operand(struct nuc_eval_call *c, struct binary *b, uint32_t arg)
{
    const struct nuc_meta *out = nuc_eval_result(c);

    b->dtypes[arg] = nuc_eval_in_meta(c, arg)->dtype;
    nuc_eval_check_computed(c, arg);
    nuc_eval_broadcast_strides(nuc_eval_in_meta(c, arg), out, b->strides[arg]);
    b->dense = b->dense && nuc_same_sizes(nuc_eval_in_meta(c, arg), out);
}

/* The operator in whose row the function is. */
static enum nuc_op function_of(const struct nuc_node *node)
{
    if (node->op != NUC_OP_DIV_MODE)
        return node->op;
    const struct nuc_arg *mode = &node->args[NUC_ARG(DIV_MODE, rounding_mode)];
    if (mode->kind != NUC_ARG_STRING)
        return NUC_OP_DIV;
    return strcmp(mode->u.string, "floor") == 0 ? NUC_OP_FLOOR_DIVIDE : NUC_OP_DIV_MODE;
}

static void prepare_binary(struct nuc_eval_call *c)
{
    const struct binary_row *row = &binary_rows[function_of(c->node)];
    struct binary *b = nuc_alloc(c->cx, sizeof *b);
    bool has_alpha = c->node->op == NUC_OP_ADD || c->node->op == NUC_OP_SUB;

    assert(row->floats != NULL || row->integers != NULL);
    b->dense = true;
    bind_operand(c, b, NUC_SELF);
    bind_operand(c, b, NUC_OTHER);
    bool integers =
        row->integers != NULL && nuc_is_integer(b->dtypes[NUC_SELF]) && nuc_is_integer(b->dtypes[NUC_OTHER]);
    b->floats = row->floats;
    b->integers = integers ? row->integers : NULL;
    b->alpha = has_alpha ? nuc_scalar(c->node, NUC_ARG(ADD, alpha), 1.0) : 1.0;
    if (!integers && row->floats == NULL)
        nuc_eval_fail(c, "floats have no bits");
    if (integers && !(fabs(b->alpha) < 0x1p62 && b->alpha == trunc(b->alpha)))
        nuc_eval_fail(c, "alpha must be an integer to scale integers");
    if (!integers && (float)b->alpha != 1.0f) {
        b->alpha = c->node->op == NUC_OP_SUB ? -b->alpha : b->alpha;
        b->floats = floats_scaled_sum;
    }
    c->state = b;
}

/* A tensor and a number on either side. */
static void prepare_number(struct nuc_eval_call *c)
{
    const struct binary_row *row = &binary_rows[c->node->op == NUC_OP_GT_SCALAR ? NUC_OP_GT : NUC_OP_POW];
    const bool of_number = c->node->op == NUC_OP_POW_OF_SCALAR;
    const uint32_t tensor = of_number ? NUC_OTHER : NUC_SELF, number = of_number ? NUC_SELF : NUC_OTHER;
    const struct nuc_arg *given = &c->node->args[number];
    struct binary *b = nuc_alloc(c->cx, sizeof *b);

    b->dense = true;
    b->floats = c->node->op == NUC_OP_POW_SCALAR ? power_loop(nuc_scalar(c->node, number, 0.0)) : row->floats;
    b->alpha = 1.0;
    bind_operand(c, b, tensor);
    /* A whole number beside integers is one. */
    bool whole = given->kind == NUC_ARG_INT && nuc_is_integer(b->dtypes[tensor]);
    b->dtypes[number] = whole ? NUC_I64 : NUC_F32;
    b->number = (float)nuc_scalar(c->node, number, 0.0);
    b->whole = whole ? given->u.i : 0;
    b->integers = whole ? row->integers : NULL;
    c->state = b;
}

/* The slopes belong to dimension 1, or there is one for all. */
static void prepare_prelu(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    struct binary *b = nuc_alloc(c->cx, sizeof *b);

    nuc_eval_expect_float(c, NUC_SELF);
    nuc_eval_expect(c, NUC_OTHER, NUC_F32);
    b->floats = floats_PRELU;
    b->dtypes[NUC_SELF] = b->dtypes[NUC_OTHER] = NUC_F32;
    nuc_eval_broadcast_strides(in, in, b->strides[NUC_SELF]);
    if (nuc_elements(nuc_eval_in_meta(c, NUC_OTHER)) != 1)
        b->strides[NUC_OTHER][1] = 1;
    c->state = b;
}

/* Row `row` of an operand. */
static struct operand operand_row(const struct nuc_eval_call *c, uint32_t arg, size_t row)
{
    const struct binary *b = c->state;
    if (!nuc_eval_has_in(c, arg))
        return (struct operand){b->dtypes[arg],
                                b->dtypes[arg] == NUC_I64 ? (const char *)&b->whole : (const char *)&b->number, 0};
    const struct nuc_meta *out = nuc_eval_result(c);
    size_t offset = b->dense ? 0 : nuc_eval_row_offset(out, row, b->strides[arg]);
    size_t step = b->dense ? 1 : out->rank == 0 ? 0 : b->strides[arg][out->rank - 1];

    return (struct operand){b->dtypes[arg], (const char *)nuc_eval_in(c, arg) + offset * nuc_dtype_size(b->dtypes[arg]),
                            step};
}

/* Elements [first, first + count) as float32, converted into `buffer` when they are not. */
static const float *as_floats(const struct operand *o, size_t first, size_t count, float *buffer, size_t *step)
{
    *step = o->step;
    if (o->dtype == NUC_F32)
        return (const float *)(const void *)o->data + first * o->step;
    for (size_t i = 0; i < count; i++)
        buffer[i] = (float)nuc_number_at(o->dtype, o->data, (first + i) * o->step);
    *step = 1;
    return buffer;
}

static void float_row(const struct binary *b, const struct operand *x, const struct operand *y, enum nuc_dtype dtype,
                      char *out, size_t n)
{
    float x_buffer[CHUNK], y_buffer[CHUNK], results[CHUNK];
    size_t chunk = x->dtype == NUC_F32 && y->dtype == NUC_F32 && dtype == NUC_F32 ? n : CHUNK;

    for (size_t at = 0; at < n; at += chunk) {
        size_t count = n - at < chunk ? n - at : chunk, x_step, y_step;
        const float *xs = as_floats(x, at, count, x_buffer, &x_step);
        const float *ys = as_floats(y, at, count, y_buffer, &y_step);
        char *to = out + at * nuc_dtype_size(dtype);
        b->floats(xs, x_step, ys, y_step, (float)b->alpha, dtype == NUC_F32 ? (float *)(void *)to : results, count);
        if (dtype != NUC_F32)
            nuc_eval_convert(NUC_F32, results, dtype, to, count);
    }
}

/* How many rows there are, and their length. */
static size_t row_count(const struct nuc_eval_call *c, size_t *length)
{
    const struct nuc_meta *out = nuc_eval_result(c);
    bool dense = ((const struct binary *)c->state)->dense;

    *length = dense ? (size_t)nuc_elements(out) : nuc_eval_row_length(out);
    if (*length == 0)
        return 0;
    return dense ? 1 : nuc_eval_rows(out);
}

/* Floats that are not broadcast. */
static void dense_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct binary *b = c->state;
    const struct operand x = operand_row(c, NUC_SELF, 0), y = operand_row(c, NUC_OTHER, 0);

    for (size_t at = part.begin, count; at < part.end; at += count) {
        float *out = (float *)c->out[0] + at;
        count = part.end - at < NUC_EVAL_PIECE ? part.end - at : NUC_EVAL_PIECE;
        b->floats((const float *)(const void *)x.data + at * x.step, x.step,
                  (const float *)(const void *)y.data + at * y.step, y.step, (float)b->alpha, out, count);
        nuc_eval_finish(c, out, count);
    }
}

static void run_binary(const struct nuc_eval_call *c)
{
    const struct binary *b = c->state;
    enum nuc_dtype dtype = nuc_eval_result(c)->dtype;
    size_t length, rows = row_count(c, &length);

    if (rows == 1 && b->integers == NULL && b->dtypes[NUC_SELF] == NUC_F32 && b->dtypes[NUC_OTHER] == NUC_F32 &&
        dtype == NUC_F32) {
        nuc_parallel_for(c->pool, length, (double)length, dense_range, c);
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        struct operand x = operand_row(c, NUC_SELF, row), y = operand_row(c, NUC_OTHER, row);
        char *out = (char *)c->out[0] + row * length * nuc_dtype_size(dtype);
        if (b->integers == NULL)
            float_row(b, &x, &y, dtype, out, length);
        for (size_t i = 0; b->integers != NULL && i < length; i++) {
            uint64_t v = b->integers((uint64_t)nuc_int_at(x.dtype, x.data, i * x.step),
                                     (uint64_t)nuc_int_at(y.dtype, y.data, i * y.step), (uint64_t)(int64_t)b->alpha);
            nuc_store_int(dtype, out, i, (int64_t)v);
        }
        if (dtype == NUC_F32)
            nuc_eval_finish(c, (float *)(void *)out, length);
    }
}

const struct nuc_eval_op nuc_eval_binary = {.prepare = prepare_binary, .run = run_binary, .finishes = true};
const struct nuc_eval_op nuc_eval_with_number = {.prepare = prepare_number, .run = run_binary, .finishes = true};
const struct nuc_eval_op nuc_eval_prelu = {.prepare = prepare_prelu, .run = run_binary, .finishes = true};
