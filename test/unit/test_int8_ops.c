/*
 * The runtime's int8 operators: a valid call of each runs, and calls with any argument replaced are refused or stay
 * inside the tensors' memory, which is allocated to the byte.
 */
#include "text_cases.h"

#include "device/runtime/operators/op_shapes.h"

#define CALLS "cases/int8_operators.txt"
#define MOST_CALLS 100
#define MOST_ARGS 17
#define MOST_RANK 4
#define MOST_ITEMS 25 /* of a list */

/* One argument. */
struct arg {
    char kind;             /* T tensor, i int, f double, b bool, I list, L weights of a recurrent layer, - none */
    uint8_t dtype;         /* of a tensor; 0: not a tensor */
    uint8_t rank;          /* of a tensor, or elements of a list */
    int32_t v[MOST_ITEMS]; /* sizes, elements, or the number; of weights: rows, inputs, units */
    bool channels_last;    /* of rank 2: zeros, as bands of which none lies outside */
};

struct call {
    char name[48];
    struct arg args[MOST_ARGS];
};

/* ---- from text: see cases/int8_operators.txt ---- */

static int32_t read_number(const char *text, char **end)
{
    long long n = strtoll(text, end, 10);

    return (int32_t)(**end == '^' ? 1ll << strtoll(*end + 1, end, 10) : n);
}

static uint8_t read_dtype(const char *text, size_t length)
{
    enum nuc_dtype dtype = dtype_named(text, length);

    if (dtype == NUC_DTYPE_COUNT)
        fail_msg("'%s' has no element type", text);
    return (uint8_t)dtype;
}

static struct arg read_arg(const char *word)
{
    const char *list = strchr(word, '['), *times = strchr(word, '*');
    struct arg a = {.kind = 'i', .channels_last = strstr(word, "]:last") != NULL};
    char *end;

    if (list == NULL) {
        bool truth = strcmp(word, "true") == 0;
        a.kind = truth || strcmp(word, "false") == 0 ? 'b' : strcmp(word, "none") == 0 ? '-' : 'i';
        a.v[0] = a.kind == 'i' ? read_number(word, &end) : truth;
        if (a.kind == 'i' && *end != '\0')
            a.kind = 'f';
        return a;
    }
    for (const char *at = list + 1; *at != ']'; at = end + (*end == ',')) {
        a.v[a.rank++] = read_number(at, &end);
        assert_true(end != at && a.rank <= MOST_ITEMS);
    }
    a.kind = times != NULL ? 'L' : list != word ? 'T' : 'I';
    if (a.kind == 'L')
        a.rank = (uint8_t)read_number(times + 1, &end);
    if (a.kind != 'I')
        a.dtype = read_dtype(word, (size_t)((times != NULL ? times : list) - word));
    return a;
}

/* The operator and its arguments. */
__attribute__((format(printf, 1, 2))) static struct call read_call(const char *format, ...)
{
    struct call c = {.name = ""};
    char text[400];
    va_list args;
    int n = 0;

    va_start(args, format);
    assert_in_range(vsnprintf(text, sizeof text, format, args), 1, sizeof text - 1);
    va_end(args);
    snprintf(c.name, sizeof c.name, "%s", strtok(text, " "));
    for (char *word = strtok(NULL, " "); word != NULL; word = strtok(NULL, " "))
        c.args[n++] = read_arg(word);
    assert_in_range(n, 1, MOST_ARGS);
    return c;
}

static struct call calls[MOST_CALLS];
static size_t n_calls;

/* Lines without a refusal are calls. */
static void add_call(struct nuc_context *cx, struct text_line *line)
{
    if (line->right != NULL)
        return;
    assert_true(n_calls < MOST_CALLS);
    calls[n_calls++] = read_call("%s", line->left);
}

static int read_calls(void **state)
{
    run_cases(CALLS, check_lines, &(struct line_check){add_call, NULL});
    return 0;
}

/* A call in memory. */
struct made {
    struct nuc_value values[MOST_ARGS], items[MOST_ARGS * MOST_ITEMS];
    struct nuc_value *args[MOST_ARGS];
    uint8_t dim_orders[MOST_ARGS + 1][MOST_RANK];
    uint8_t *lists[MOST_ARGS];
    struct arg weights[3];
    struct nuc_kernel_context cx;
    struct nuc_detail detail;
};

static void make_tensor(struct nuc_value *v, uint8_t dim_order[MOST_RANK], const struct arg *a)
{
    static const uint8_t last[MOST_RANK] = {0, 2, 3, 1};
    struct nuc_tensor *t = &v->u.tensor;
    size_t bytes = nuc_dtype_size((enum nuc_dtype)a->dtype);
    const bool zeros = a->channels_last && a->rank == 2;

    v->kind = NUC_VALUE_TENSOR;
    for (uint8_t d = 0; d < MOST_RANK && d < a->rank; d++) {
        dim_order[d] = a->channels_last && a->rank == 4 ? last[d] : d;
        bytes *= (size_t)a->v[d];
    }
    *t = (struct nuc_tensor){.data = malloc(bytes),
                             .sizes = a->v,
                             .dim_order = dim_order,
                             .bytes = bytes,
                             .dtype = a->dtype,
                             .rank = a->rank};
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)t->data)[i] = (uint8_t)(a->dtype == NUC_I32 ? (i % 4 == 0 ? 1 : 0) : zeros ? 0 : i * 37);
}

/* Items of a list are values; their indices lie in the image, 8 bytes each for ints, 4 for tensors. */
static void make_list(struct made *m, int at, const struct arg *a)
{
    int32_t rows = a->v[0];
    size_t size = a->kind == 'L' ? 4 : 8;

    if (a->kind == 'L') {
        m->weights[0] = (struct arg){'T', a->dtype, 2, {rows, a->v[1]}, false};
        m->weights[1] = (struct arg){'T', a->dtype, 2, {rows, a->v[2]}, false};
        m->weights[2] = (struct arg){'T', NUC_I32, 2, {rows, 4}, false};
    }
    m->values[at].kind = a->kind == 'L' ? NUC_VALUE_TENSORS : NUC_VALUE_INTS;
    m->lists[at] = calloc(a->rank + 1u, size);
    assert_non_null(m->lists[at]);
    for (int i = 0; i < a->rank; i++) {
        struct nuc_value *item = &m->items[at * MOST_ITEMS + i];
        m->lists[at][size * (size_t)i] = (uint8_t)(at * MOST_ITEMS + i);
        if (a->kind == 'L') {
            make_tensor(item, m->dim_orders[MOST_ARGS], &m->weights[i % 3]);
            continue;
        }
        item->kind = NUC_VALUE_INT;
        item->u.i = a->v[i];
    }
    m->values[at].u.list = (struct nuc_list){.items = m->lists[at], .count = a->rank};
}

static void make_arg(struct made *m, int at, const struct arg *a)
{
    struct nuc_value *v = &m->values[at];

    m->args[at] = v;
    if (a->kind == 'T') {
        make_tensor(v, m->dim_orders[at], a);
    } else if (a->kind == 'I' || a->kind == 'L') {
        make_list(m, at, a);
    } else if (a->kind == 'f') {
        v->kind = NUC_VALUE_DOUBLE;
        v->u.f = a->v[0];
    } else if (a->kind == 'b') {
        v->kind = NUC_VALUE_BOOL;
        v->u.b = a->v[0] != 0;
    } else {
        v->kind = a->kind == 'i' ? NUC_VALUE_INT : NUC_VALUE_NONE;
        v->u.i = a->v[0];
    }
}

static struct made *make(const struct call *c)
{
    struct made *m = calloc(1, sizeof *m);

    assert_non_null(m);
    m->cx = (struct nuc_kernel_context){.values = m->items, .n_values = MOST_ARGS * MOST_ITEMS, .detail = &m->detail};
    for (int i = 0; i < MOST_ARGS && c->args[i].kind != 0; i++)
        make_arg(m, i, &c->args[i]);
    return m;
}

static enum nuc_status run_made(struct made *m, const struct call *c)
{
    const struct nuc_kernel_entry *entry = nuc_kernel_find(&nuc_default_kernels, c->name);

    assert_non_null(entry);
    enum nuc_status status = NUC_OK;
    for (int i = 0; status == NUC_OK && entry->accepts[i] != 0; i++)
        status = nuc_check_arg(&m->cx, entry->accepts[i], m->args[i], &m->values[0].u.tensor);
    if (status == NUC_OK)
        status = entry->run(&m->cx, m->args);
    assert_true(status == NUC_OK || m->detail.message != NULL);
    return status;
}

static void release(struct made *m, const struct call *c)
{
    for (int i = 0; i < MOST_ARGS; i++) {
        if (c->args[i].kind == 'T')
            free(m->values[i].u.tensor.data);
        for (int k = 0; c->args[i].kind == 'L' && k < c->args[i].rank; k++)
            free(m->items[i * MOST_ITEMS + k].u.tensor.data);
        free(m->lists[i]);
    }
    free(m);
}

/* Runs a call; the bytes of its last argument go to `out` when that is not NULL. */
static enum nuc_status run_into(const struct call *c, int8_t *out)
{
    struct made *m = make(c);
    enum nuc_status status = run_made(m, c);

    for (int i = 0; out != NULL && i < MOST_ARGS; i++) {
        if (c->args[i].kind == 'T')
            memcpy(out, m->values[i].u.tensor.data, m->values[i].u.tensor.bytes);
    }
    release(m, c);
    return status;
}

static enum nuc_status run(const struct call *c)
{
    return run_into(c, NULL);
}

static void test_valid_calls(void **state)
{
    for (size_t i = 0; i < n_calls; i++) {
        if (run(&calls[i]) != NUC_OK)
            fail_msg("%s is refused", calls[i].name);
    }
}

/* A depthwise convolution may begin its output where its input begins, with scratch for the rows of a channel. */
static void test_over_input(void **state)
{
    static const struct {
        int32_t scratch, padding, out_width, offset;
        bool fits;
    } rows[] = {
        {15, 1, 5, 0, true}, {16, 1, 5, 0, true},  {15, 0, 3, 0, true},  {14, 1, 5, 0, false},
        {0, 1, 5, 0, false}, {15, 1, 5, 1, false}, {15, 2, 7, 0, false}, {15, 0, 3, 4, false},
    };
    const int input = 0, output = 14;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t pad = rows[i].padding;
        const struct call c = read_call(
            "nucleon::quantized_depthwise_conv2d.out int8[1,4,5,5]:last int8[1,3,3,4] none [1,1] [1,%d,1,%d] [1,1] 1 5 "
            "-3 int32[4] int32[4] -128 127 uint8[%d] int8[1,4,5,%d]:last",
            pad, pad, rows[i].scratch, rows[i].out_width);
        struct made *m = make(&c);
        struct nuc_tensor *out = &m->values[output].u.tensor;
        void *own = out->data;
        int8_t expected[4 * 5 * 7];
        assert_int_equal(run_into(&c, expected), NUC_OK);
        out->data = (int8_t *)m->values[input].u.tensor.data + rows[i].offset;
        assert_int_equal(run_made(m, &c), rows[i].fits ? NUC_OK : NUC_UNSUPPORTED);
        if (rows[i].fits)
            assert_memory_equal(out->data, expected, out->bytes);
        out->data = own;
        release(m, &c);
    }
}

/* Where element `index` (by dimension) of a tensor lies. */
static int32_t place_of(const struct arg *a, const int32_t index[MOST_RANK])
{
    static const uint8_t last[MOST_RANK] = {0, 2, 3, 1};
    int32_t at = 0;

    for (int i = 0; i < a->rank; i++) {
        int d = a->channels_last && a->rank == 4 ? last[i] : i;
        at = at * a->v[d] + index[d];
    }
    return at;
}

/* What make_tensor() puts at a place. */
static int8_t byte_at(int32_t place)
{
    return (int8_t)(uint8_t)(place * 37);
}

/* The next index by dimension; false after the last one. */
static bool next_index(const struct arg *a, int32_t index[MOST_RANK])
{
    for (int d = a->rank; d-- > 0;) {
        if (++index[d] < a->v[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* Broadcasting over every mixture of layouts: sizes of 1 stay at index 0. */
static void test_minimum_layouts(void **state)
{
    static const int32_t others[4][MOST_RANK] = {{2, 3, 4, 5}, {1, 3, 1, 1}, {2, 1, 4, 1}, {1, 1, 1, 5}};
    int8_t out[120];

    for (int variant = 0; variant < 32; variant++) {
        struct call c = read_call("cortex_m::minimum.out int8[2,3,4,5] int8[2,3,4,5] int8[2,3,4,5]");
        int32_t index[MOST_RANK] = {0};
        for (int i = 0; i < 3; i++)
            c.args[i].channels_last = (variant >> i & 1) != 0;
        memcpy(c.args[1].v, others[variant >> 3], sizeof others[0]);
        assert_int_equal(run_into(&c, out), NUC_OK);
        do {
            int32_t small[MOST_RANK];
            for (int d = 0; d < MOST_RANK; d++)
                small[d] = c.args[1].v[d] == 1 ? 0 : index[d];
            int8_t a = byte_at(place_of(&c.args[0], index)), b = byte_at(place_of(&c.args[1], small));
            assert_int_equal(out[place_of(&c.args[2], index)], a < b ? a : b);
        } while (next_index(&c.args[2], index));
    }
}

static void test_pad_values(void **state)
{
    const struct call c = read_call("cortex_m::pad.out int8[1,2,3,4]:last [0,1,2,0] [0,1,0,1] 5 int8[1,3,5,6]:last");
    int32_t index[MOST_RANK] = {0};
    int8_t out[90];

    assert_int_equal(run_into(&c, out), NUC_OK);
    do { /* one row above and below, two columns to the left, one channel after */
        int32_t from[MOST_RANK] = {0, index[1], index[2] - 1, index[3] - 2};
        bool inside = from[1] < 2 && from[2] >= 0 && from[2] < 3 && from[3] >= 0;
        assert_int_equal(out[place_of(&c.args[4], index)], inside ? byte_at(place_of(&c.args[0], from)) : 5);
    } while (next_index(&c.args[4], index));
}

static void test_transpose_values(void **state)
{
    const struct call c = read_call("cortex_m::transpose.out int8[2,3,4,5]:last [3,0,2,1] int8[5,2,4,3]");
    int32_t index[MOST_RANK] = {0};
    int8_t out[120];

    assert_int_equal(run_into(&c, out), NUC_OK);
    do {
        int32_t from[MOST_RANK] = {index[1], index[3], index[2], index[0]};
        assert_int_equal(out[place_of(&c.args[2], index)], byte_at(place_of(&c.args[0], from)));
    } while (next_index(&c.args[2], index));
}

static bool change_tensor(struct arg *a, int variant)
{
    static const int32_t sizes[] = {0, 1, 2, 3, 5, 7, 9, 300};
    int n_sizes = (int)(sizeof sizes / sizeof sizes[0]);

    if (variant == 0)
        a->channels_last = !a->channels_last;
    else if (variant == 1)
        a->dtype = a->dtype == NUC_I8 ? NUC_I16 : NUC_I8;
    else if (variant == 2)
        a->rank--;
    else if (variant - 3 < n_sizes * a->rank)
        a->v[(variant - 3) / n_sizes] = sizes[(variant - 3) % n_sizes];
    return variant < 3 || variant - 3 < n_sizes * a->rank;
}

/* One tensor less, of another type, or of another size. */
static bool change_weights(struct arg *a, int variant)
{
    static const int32_t sizes[] = {0, 1, 3, 4, 5, 12, 17, 300};

    if (variant == 0)
        a->rank--;
    else if (variant == 1)
        a->dtype = NUC_I16;
    else if (variant < 26)
        a->v[(variant - 2) / 8] = sizes[(variant - 2) % 8];
    return variant < 26;
}

/* A call with argument `at` changed, by the `variant`th rule for its kind; false when there is no such rule. */
static bool change(struct call *c, int at, int variant)
{
    static const int32_t numbers[] = {0, 1, -1, 3, 31, 32, -32, 127, 128, -128, -129, 16385, INT32_MAX, INT32_MIN};
    struct arg *a = &c->args[at];
    int n = (int)(sizeof numbers / sizeof numbers[0]);

    if (a->kind == 'i' || a->kind == 'f' || a->kind == 'b') {
        a->v[0] = variant < n ? numbers[variant] : 0;
        return variant < n;
    }
    if (a->kind == 'I') {
        if (variant == 0)
            a->rank = (uint8_t)(a->rank > 1 ? a->rank - 1 : 0);
        else if (variant == 1)
            a->rank = (uint8_t)(a->rank < MOST_ITEMS ? a->rank + 1 : 1);
        else if (variant - 2 < n * a->rank)
            a->v[(variant - 2) / n] = numbers[(variant - 2) % n];
        return variant < 2 || variant - 2 < n * a->rank;
    }
    if (a->kind == 'L')
        return change_weights(a, variant);
    return a->kind == 'T' && change_tensor(a, variant);
}

static void test_changed_arguments(void **state)
{
    unsigned refused = 0, accepted = 0;

    for (size_t i = 0; i < n_calls; i++) {
        for (int at = 0; at < MOST_ARGS && calls[i].args[at].kind != 0; at++) {
            struct call c = calls[i];
            for (int variant = 0; change(&c, at, variant); variant++, c = calls[i]) {
                if (run(&c) == NUC_OK)
                    accepted++;
                else
                    refused++;
            }
        }
    }
    assert_true(refused > accepted);
}

/* Two arguments at a time: what one check relies on, another argument may undo. */
static void test_changed_pairs(void **state)
{
    for (size_t i = 0; i < n_calls; i++) {
        for (int at = 0; at < MOST_ARGS && calls[i].args[at].kind != 0; at++) {
            struct call first = calls[i];
            for (int variant = 0; change(&first, at, variant); variant++, first = calls[i]) {
                int other = (at + 1 + variant) % MOST_ARGS;
                struct call both = first;
                for (int k = 0; calls[i].args[other].kind != 0 && change(&both, other, k); k++, both = first)
                    (void)run(&both);
            }
        }
    }
}

static void check_refused(struct nuc_context *cx, struct text_line *line)
{
    if (line->right == NULL)
        return;
    char *name = line->right, *place = split_at(name, " ");
    bool found = false;

    split_at(place, " # ");
    for (size_t i = 0; i < n_calls; i++) {
        struct call c = calls[i];
        char words[200];
        snprintf(words, sizeof words, "%s", place);
        if (strcmp(c.name, name) != 0)
            continue;
        found = true;
        for (const char *at = strtok(words, " "); at != NULL; at = strtok(NULL, " "))
            c.args[atoi(at)] = read_arg(strtok(NULL, " "));
        if (run(&c) == NUC_OK)
            fail_msg("%s %s", name, place);
    }
    if (!found)
        fail_msg("no call of %s", name);
}

/* An LSTM whose biases are of the type of the other width, and a shift that is too far for sums of 64 bits. */
static void test_widths_of_an_lstm(void **state)
{
    for (size_t i = 0; i < n_calls; i++) {
        struct call biases = calls[i], shift = calls[i];
        if (strcmp(calls[i].name, "nucleon::quantized_litert_lstm.out") != 0)
            continue;
        const bool wide = calls[i].args[0].dtype == NUC_I16;
        biases.args[5].dtype = wide ? NUC_I32 : NUC_I64;
        shift.args[7].v[1] = 8;
        assert_int_not_equal(run(&biases), NUC_OK);
        assert_int_equal(run(&shift) == NUC_OK, !wide);
    }
}

/* Whose scratch would be 0 bytes where sizes have 32 bits, and which has no values that memory would bound. */
static void test_inputs_of_a_layer(void **state)
{
    const struct call c = read_call("nucleon::quantized_gru.out int8[2,0,%d] none int8*3[0,%d,0] false true 14 "
                                    "[1,2^30,-3,1,2^30,-3,1,2^30,-3,4,4,0,15] uint8[32] int8[2,0,0] int8[1,2,0]",
                                    INT32_MAX - 2, INT32_MAX);
    struct made *m = make(&c);

    assert_int_equal(run_made(m, &c), NUC_UNSUPPORTED);
    assert_string_equal(m->detail.message, "a layer has more than 2^27 units or inputs");
    release(m, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_calls),       cmocka_unit_test(test_over_input),
        cmocka_unit_test(test_minimum_layouts),   cmocka_unit_test(test_pad_values),
        cmocka_unit_test(test_transpose_values),  cmocka_unit_test(test_changed_arguments),
        cmocka_unit_test(test_changed_pairs),     LINE_TEST(CALLS, check_refused, NULL),
        cmocka_unit_test(test_widths_of_an_lstm), cmocka_unit_test(test_inputs_of_a_layer),
    };

    return cmocka_run_group_tests(tests, read_calls, NULL);
}
