/* What the arguments of the runtime's operators may be: the rows of all operators, and the check of a value. */
#include "unit/test.h"

#include "device/runtime/operators/op_shapes.h"

/* NULL: there is no argument of that number. */
static const char *argument_name(const struct nuc_kernel_entry *entry, uint32_t index)
{
    const char *name = entry->arguments;

    for (uint32_t i = 0; i < index && *name != '\0'; i++)
        name += strlen(name) + 1;
    return *name != '\0' ? name : NULL;
}

static struct nuc_tensor tensor(enum nuc_dtype dtype, uint8_t rank, const int32_t *sizes, const uint8_t *order)
{
    struct nuc_tensor t = {.sizes = sizes, .dim_order = order, .dtype = (uint8_t)dtype, .rank = rank};

    t.bytes = nuc_dtype_size(dtype);
    for (uint8_t d = 0; d < rank; d++)
        t.bytes *= (size_t)sizes[d];
    return t;
}

static const uint8_t in_order[] = {0, 1, 2, 3};
static const uint8_t channels_last[] = {0, 2, 3, 1};

static enum nuc_status check(uint32_t accepts, const struct nuc_value *value, const struct nuc_tensor *first)
{
    struct nuc_detail detail = {.message = NULL};
    struct nuc_kernel_context cx = {.detail = &detail};
    enum nuc_status status = nuc_check_arg(&cx, accepts, value, first);

    assert_true((status == NUC_OK) == (detail.message == NULL));
    return status;
}

/* ---- all operators ---- */

/* A name for each word, none twice, and a tensor that is written at the end or, in place, in front. */
static void test_rows(void **state)
{
    (void)state;
    for (size_t k = 0; k < nuc_default_kernels.count; k++) {
        const struct nuc_kernel_entry *entry = &nuc_default_kernels.entries[k];
        uint32_t n = 0;
        for (; entry->accepts[n] != 0; n++) {
            const char *name = argument_name(entry, n);
            if (name == NULL)
                fail_msg("%s: argument %u has no name", entry->name, n);
            for (uint32_t i = 0; i < n; i++)
                assert_string_not_equal(name, argument_name(entry, i));
        }
        assert_null(argument_name(entry, n));
        if (n < 2 || ((entry->accepts[n - 1] | entry->accepts[0]) & 1) == 0)
            fail_msg("%s: neither the last argument nor, in place, the first is written", entry->name);
    }
}

/* Every argument refuses other kinds. What is compared with the first argument is so only where that is a tensor. */
static void test_kinds(void **state)
{
    static const int32_t sizes[] = {2, 3, 4, 5};
    const struct nuc_tensor first = tensor(NUC_I8, 4, sizes, in_order);

    (void)state;
    for (size_t k = 0; k < nuc_default_kernels.count; k++) {
        const struct nuc_kernel_entry *entry = &nuc_default_kernels.entries[k];
        bool has_first = (entry->accepts[0] >> NUC_VALUE_TENSOR & 1) != 0;
        for (uint32_t i = 0; entry->accepts[i] != 0; i++) {
            for (uint8_t kind = NUC_VALUE_NONE; kind <= NUC_VALUE_OPTIONAL_TENSORS; kind++) {
                struct nuc_value v = {.kind = kind};
                if (kind == NUC_VALUE_TENSOR)
                    v.u.tensor = tensor(NUC_F32, 3, sizes, in_order);
                bool accepted = check(entry->accepts[i], &v, has_first ? &first : NULL) != NUC_BAD_INPUT;
                if (accepted != ((entry->accepts[i] >> kind & 1) != 0))
                    fail_msg("%s: argument '%s', kind %u", entry->name, argument_name(entry, i), kind);
            }
        }
    }
}

/* ---- single arguments ---- */

static uint32_t accepts_of(const char *op, const char *argument)
{
    const struct nuc_kernel_entry *entry = nuc_kernel_find(&nuc_default_kernels, op);
    uint32_t i = 0;

    assert_non_null(entry);
    while (argument_name(entry, i) != NULL && strcmp(argument_name(entry, i), argument) != 0)
        i++;
    assert_non_null(argument_name(entry, i));
    return entry->accepts[i];
}

/* The bounds of an int, or of the elements of a list: they are accepted, their neighbours outside are not. */
static void test_ranges(void **state)
{
    static const struct {
        const char *op, *argument;
        int64_t low, high;
        uint32_t count; /* of a list, 0: an int */
    } rows[] = {
        {"cortex_m::quantized_add.out", "self_zero_point", -128, 127, 0},
        {"cortex_m::quantized_add.out", "self_multiplier", INT32_MIN, INT32_MAX, 0},
        {"cortex_m::quantized_add.out", "self_shift", -31, 31, 0},
        {"cortex_m::quantized_add.out", "activation_max", -128, 127, 0},
        {"cortex_m::quantized_linear.out", "filter_offset", -127, 128, 0},
        {"cortex_m::quantized_linear.out", "requantize_multipliers", INT32_MIN, INT32_MAX, 1},
        {"cortex_m::quantized_linear.out", "requantize_shifts", -31, 31, 1},
        {"cortex_m::softmax.out", "dim", -4, 3, 0},
        {"cortex_m::softmax.out", "input_multiplier", 0, INT32_MAX, 0},
        {"cortex_m::softmax.out", "input_shift", 0, 31, 0},
        {"cortex_m::softmax.out", "diff_min", INT32_MIN, 0, 0},
        {"cortex_m::pad.out", "pre_pad", 0, INT32_MAX, 4},
        {"cortex_m::quantized_conv2d.out", "stride", 1, 1 << 14, 2},
        {"cortex_m::quantized_conv2d.out", "padding", 0, 1 << 14, 2},
        {"nucleon::quantized_conv2d.out", "padding", 0, 1 << 14, 4},
        {"cortex_m::quantized_transpose_conv2d.out", "output_padding", -(1 << 14), 1 << 14, 2},
        {"nucleon::quantized_transpose_conv2d.out", "groups", 1, INT32_MAX, 0},
        {"nucleon::quantized_gru.out", "state_fraction", 0, 15, 0},
        {"quantized_decomposed::quantize_per_tensor.out", "zero_point", INT32_MIN, INT32_MAX, 0},
        {"aten::convolution.out", "stride", 1, 1 << 24, 3},
        {"aten::convolution.out", "padding", 0, 1 << 24, 1},
        {"aten::repeat.out", "repeats", 0, INT32_MAX, 5},
        {"aten::slice_copy.Tensor_out", "step", 1, INT32_MAX, 0},
        {"aten::slice_copy.Tensor_out", "start", INT64_MIN, INT64_MAX, 0},
    };
    static const int32_t sizes[] = {2, 3, 4, 5};
    const struct nuc_tensor first = tensor(NUC_F32, 4, sizes, in_order);
    const uint8_t items[5 * 8] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t accepts = accepts_of(rows[i].op, rows[i].argument);
        for (int k = 0; k < 4; k++) {
            struct nuc_detail detail = {.message = NULL};
            struct nuc_value number = {.kind = NUC_VALUE_INT, .u.i = k < 2 ? rows[i].low : rows[i].high};
            struct nuc_value list = {.kind = NUC_VALUE_INTS, .u.list = {items, rows[i].count, NULL}};
            struct nuc_kernel_context cx = {.values = &number, .n_values = 1, .detail = &detail};
            bool outside = k == 1 || k == 3;
            if (outside && number.u.i == (k == 1 ? INT64_MIN : INT64_MAX))
                continue;
            number.u.i += k == 1 ? -1 : k == 3 ? 1 : 0;
            enum nuc_status status = nuc_check_arg(&cx, accepts, rows[i].count == 0 ? &number : &list, &first);
            if (status != (outside ? NUC_UNSUPPORTED : NUC_OK))
                fail_msg("%s: '%s' of %lld", rows[i].op, rows[i].argument, (long long)number.u.i);
        }
    }
}

/* A list of another length; a scalar has the dimensions 0 and -1. */
static void test_lengths(void **state)
{
    const uint8_t items[5 * 8] = {0};
    const struct nuc_value one = {.kind = NUC_VALUE_INT, .u.i = 1};
    const struct nuc_tensor scalar = tensor(NUC_I8, 0, NULL, NULL);
    uint32_t dim = accepts_of("aten::cumsum.out", "dim");

    (void)state;
    for (uint32_t count = 0; count <= 5; count++) {
        struct nuc_detail detail = {.message = NULL};
        struct nuc_kernel_context cx = {.values = &one, .n_values = 1, .detail = &detail};
        const struct nuc_value list = {.kind = NUC_VALUE_INTS, .u.list = {items, count, NULL}};
        uint32_t two = accepts_of("cortex_m::quantized_avg_pool2d.out", "stride");
        uint32_t any = accepts_of("aten::avg_pool2d.out", "stride");
        assert_int_equal(nuc_check_arg(&cx, two, &list, NULL), count == 2 ? NUC_OK : NUC_UNSUPPORTED);
        assert_int_equal(nuc_check_arg(&cx, any, &list, NULL), NUC_OK);
    }
    for (int64_t d = -3; d <= 2; d++) {
        const struct nuc_value v = {.kind = NUC_VALUE_INT, .u.i = d};
        assert_int_equal(check(dim, &v, &scalar), d == 0 || d == -1 ? NUC_OK : NUC_UNSUPPORTED);
    }
}

/* Element types, rank, layout, emptiness, and what is compared with the first argument. */
static void test_tensors(void **state)
{
    static const int32_t image[] = {2, 3, 4, 5}, pixel[] = {2, 1, 1, 5}, none[] = {2, 0, 4, 5}, other[] = {2, 3, 4, 6};
    static const struct {
        const char *op, *argument;
        enum nuc_dtype dtype;
        uint8_t rank;
        const int32_t *sizes;
        const uint8_t *order;
        bool fits;
    } rows[] = {
        {"cortex_m::quantized_conv2d.out", "input", NUC_I8, 4, image, channels_last, true},
        {"cortex_m::quantized_conv2d.out", "input", NUC_I8, 4, image, in_order, false},
        {"cortex_m::quantized_conv2d.out", "input", NUC_I8, 4, pixel, in_order, true},
        {"cortex_m::quantized_conv2d.out", "input", NUC_I8, 3, image, in_order, false},
        {"cortex_m::quantized_conv2d.out", "input", NUC_U8, 4, image, channels_last, false},
        {"cortex_m::quantized_conv2d.out", "input", NUC_I8, 4, none, channels_last, false},
        {"cortex_m::quantized_conv2d.out", "out", NUC_I8, 4, none, channels_last, true},
        {"cortex_m::quantized_conv2d.out", "weight", NUC_I8, 4, image, in_order, true},
        {"cortex_m::quantized_conv2d.out", "weight", NUC_I8, 4, image, channels_last, false},
        {"cortex_m::quantized_conv2d.out", "scratch", NUC_F64, 1, image, in_order, true},
        {"aten::mm.out", "self", NUC_I64, 2, image, in_order, true},
        {"aten::mm.out", "self", NUC_F64, 2, image, in_order, false},
        {"aten::mm.out", "self", NUC_F32, 3, image, in_order, false},
        {"aten::mm.out", "mat2", NUC_F32, 2, image, in_order, true},
        {"aten::mm.out", "mat2", NUC_I32, 2, image, in_order, false},
        {"aten::relu.out", "self", NUC_BOOL, 4, image, in_order, true},
        {"aten::relu.out", "self", NUC_F16, 4, image, in_order, false},
        {"aten::relu.out", "out", NUC_F32, 4, image, channels_last, true},
        {"aten::relu.out", "out", NUC_F32, 4, other, in_order, false},
        {"aten::leaky_relu.out", "out", NUC_F32, 4, image, in_order, true},
        {"aten::leaky_relu.out", "out", NUC_F32, 4, image, channels_last, false},
        {"aten::leaky_relu.out", "out", NUC_F64, 4, image, in_order, false},
        {"aten::gather.out", "index", NUC_I32, 4, image, in_order, true},
        {"aten::gather.out", "index", NUC_U8, 4, image, in_order, false},
        {"aten::argmax.out", "out", NUC_I64, 0, NULL, NULL, true},
    };
    const struct nuc_tensor first = tensor(NUC_F32, 4, image, in_order);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct nuc_value v = {.kind = NUC_VALUE_TENSOR,
                                    .u.tensor = tensor(rows[i].dtype, rows[i].rank, rows[i].sizes, rows[i].order)};
        enum nuc_status status = check(accepts_of(rows[i].op, rows[i].argument), &v, &first);
        if (status != (rows[i].fits ? NUC_OK : NUC_UNSUPPORTED))
            fail_msg("row %zu: %s, '%s'", i, rows[i].op, rows[i].argument);
    }
}

/* Every int becomes the float32 next to it. */
static void test_numbers(void **state)
{
    static const int64_t ints[] = {0,
                                   1,
                                   -1,
                                   16777217,
                                   -16777219,
                                   INT32_MIN,
                                   INT32_MAX,
                                   UINT32_MAX,
                                   INT64_MIN,
                                   INT64_MAX,
                                   (1LL << 40) + (1 << 16) + 1,
                                   (1LL << 40) + (1 << 16),
                                   -(3LL << 39) - (1 << 16)};
    const struct nuc_value third = {.kind = NUC_VALUE_DOUBLE, .u.f = 1.0 / 3};

    (void)state;
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) {
        const struct nuc_value v = {.kind = NUC_VALUE_INT, .u.i = ints[i]};
        float expected = (float)ints[i], value = nuc_value_float(&v);
        assert_memory_equal(&value, &expected, sizeof value);
    }
    assert_true(nuc_value_float(&third) == (float)(1.0 / 3));
}

RUN_TESTS(cmocka_unit_test(test_rows), cmocka_unit_test(test_kinds), cmocka_unit_test(test_ranges),
          cmocka_unit_test(test_lengths), cmocka_unit_test(test_tensors), cmocka_unit_test(test_numbers))
