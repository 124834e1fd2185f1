/*
 * Sizes that an archive leaves open (dynamic_shapes of torch.export). torch writes them as expressions of sympy in its
 * srepr() form, "Mul(Integer(2), Symbol('s39', positive=True, integer=True))", next to the value of the example inputs.
 * A program has fixed sizes: each symbol gets a value, and then every expression has one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "front/pt2/importer.h"
#include "host/numbers.h"
#include "host/text.h"
#include "ir/shapes/shapes.h"

/* ---- expressions ---- */

/* A fraction, since sympy writes x / 2 as a product with Rational(1, 2). */
struct fraction {
    int64_t numerator, denominator; /* > 0 */
};

struct expression {
    const struct nuc_importer *im;
    const char *at;
    unsigned depth;
    bool has_value;      /* false: a symbol has none yet, or it is no expression of numbers */
    const char *open;    /* the first symbol without a value */
    const char *other;   /* another one */
    const char *assumed; /* the symbol that has `value` here */
    int64_t value;
};

#define MAX_DEPTH 32
#define MAX_OPERANDS 16
#define MOST_TRIED 4096 /* values of a symbol in an expression that is not linear */

static struct fraction no_value(struct expression *x)
{
    x->has_value = false;
    return (struct fraction){0, 1};
}

static struct fraction reduce(struct expression *x, int64_t numerator, int64_t denominator)
{
    if (denominator == 0 || numerator == INT64_MIN || denominator == INT64_MIN)
        return no_value(x);
    int64_t d = nuc_common_divisor(numerator, denominator);
    d = denominator < 0 ? -d : d;
    return (struct fraction){numerator / d, denominator / d};
}

static struct fraction add(struct expression *x, struct fraction a, struct fraction b)
{
    int64_t p, q, sum, denominator;

    if (__builtin_mul_overflow(a.numerator, b.denominator, &p) ||
        __builtin_mul_overflow(b.numerator, a.denominator, &q) || __builtin_add_overflow(p, q, &sum) ||
        __builtin_mul_overflow(a.denominator, b.denominator, &denominator))
        return no_value(x);
    return reduce(x, sum, denominator);
}

static struct fraction multiply(struct expression *x, struct fraction a, struct fraction b)
{
    int64_t p, q;

    if (__builtin_mul_overflow(a.numerator, b.numerator, &p) ||
        __builtin_mul_overflow(a.denominator, b.denominator, &q))
        return no_value(x);
    return reduce(x, p, q);
}

static struct fraction floor_of(struct fraction a)
{
    int64_t q = a.numerator / a.denominator;

    return (struct fraction){q - (a.numerator % a.denominator < 0), 1};
}

static struct fraction divide(struct expression *x, struct fraction a, struct fraction b)
{
    if (b.numerator == 0)
        return no_value(x);
    return multiply(x, a, reduce(x, b.denominator, b.numerator));
}

static struct fraction negate(struct fraction a)
{
    return (struct fraction){-a.numerator, a.denominator};
}

static struct fraction remainder_of(struct expression *x, struct fraction a, struct fraction b)
{
    struct fraction whole = floor_of(divide(x, a, b));

    return add(x, a, negate(multiply(x, whole, b)));
}

static struct fraction power(struct expression *x, struct fraction base, struct fraction exponent)
{
    struct fraction p = {1, 1};

    if (exponent.denominator != 1 || exponent.numerator < -64 || exponent.numerator > 64)
        return no_value(x);
    for (int64_t i = 0; i < llabs(exponent.numerator); i++)
        p = multiply(x, p, base);
    return exponent.numerator < 0 ? divide(x, (struct fraction){1, 1}, p) : p;
}

static bool is_less(struct expression *x, struct fraction a, struct fraction b)
{
    return add(x, a, negate(b)).numerator < 0;
}

/* A function of sympy's, or of torch.utils._sympy.functions, of its operands. */
static struct fraction apply(struct expression *x, const char *name, size_t length, struct fraction *v, size_t count)
{
    static const char *const names[] = {"Add",        "Mul",     "Max",       "Min",     "FloorDiv",     "CleanDiv",
                                        "IntTrueDiv", "Mod",     "PythonMod", "Pow",     "PowByNatural", "floor",
                                        "FloorToInt", "ceiling", "CeilToInt", "CeilDiv", "Abs"};
    enum {
        ADD,
        MUL,
        MAX,
        MIN,
        FLOOR_DIV,
        CLEAN_DIV,
        TRUE_DIV,
        MOD,
        PYTHON_MOD,
        POW,
        NATURAL,
        FLOOR,
        TO_INT,
        CEILING,
        CEIL_TO_INT,
        CEIL_DIV,
        ABS,
        COUNT
    };
    size_t f = 0;

    while (f < COUNT && (strlen(names[f]) != length || memcmp(names[f], name, length) != 0))
        f++;
    if (f == COUNT || count == 0 || (f >= FLOOR_DIV && f <= NATURAL && count != 2) || (f == CEIL_DIV && count != 2))
        return no_value(x);
    struct fraction a = v[0];
    for (size_t i = 1; f <= MIN && i < count; i++) {
        if (f == ADD || f == MUL)
            a = f == ADD ? add(x, a, v[i]) : multiply(x, a, v[i]);
        else if (is_less(x, f == MAX ? a : v[i], f == MAX ? v[i] : a))
            a = v[i];
    }
    switch (f) {
    case FLOOR_DIV:
        return floor_of(divide(x, a, v[1]));
    case CLEAN_DIV:
    case TRUE_DIV:
        return divide(x, a, v[1]);
    case MOD:
    case PYTHON_MOD:
        return remainder_of(x, a, v[1]);
    case POW:
    case NATURAL:
        return power(x, a, v[1]);
    case FLOOR:
    case TO_INT:
        return floor_of(a);
    case CEILING:
    case CEIL_TO_INT:
        return negate(floor_of(negate(a)));
    case CEIL_DIV:
        return negate(floor_of(negate(divide(x, a, v[1]))));
    case ABS:
        return a.numerator < 0 ? negate(a) : a;
    default:
        return a;
    }
}

static void skip_spaces(struct expression *x)
{
    while (*x->at == ' ' || *x->at == ',')
        x->at++;
}

/* Symbol('s39', positive=True, integer=True), behind the parenthesis. */
static struct fraction read_symbol(struct expression *x)
{
    char quote = *x->at;
    size_t length = quote == '\'' || quote == '"' ? strcspn(x->at + 1, "'\"") : 0;
    const char *name = x->at + 1, *end = strchr(x->at, ')');

    if (length == 0 || end == NULL)
        return no_value(x);
    x->at = end + 1;
    for (size_t i = 0; i < x->im->n_symbols; i++) {
        const struct nuc_symbol *s = &x->im->symbols[i];
        if (strlen(s->name) == length && memcmp(s->name, name, length) == 0)
            return (struct fraction){s->value, 1};
    }
    const char *text = nuc_format(x->im->cx, "%.*s", (int)length, name);
    if (x->assumed != NULL && strcmp(x->assumed, text) == 0)
        return (struct fraction){x->value, 1};
    if (x->open == NULL)
        x->open = text;
    else if (strcmp(x->open, text) != 0)
        x->other = text;
    return no_value(x);
}

/* NAME(operand, ...), or a whole number. */
static struct fraction read_expression(struct expression *x)
{
    struct fraction operands[MAX_OPERANDS];
    size_t count = 0, length;

    skip_spaces(x);
    length = strcspn(x->at, "(), ");
    const char *name = x->at;
    for (size_t i = length; i-- > 0 && name + i > x->at;) { /* behind the last dot of a module's path */
        if (name[i] == '.') {
            name += i + 1;
            break;
        }
    }
    size_t own = length - (size_t)(name - x->at);
    if (x->at[length] != '(') {
        char *end;
        long long number = strtoll(x->at, &end, 10);
        if (end == x->at)
            return no_value(x);
        x->at = end;
        return (struct fraction){number, 1};
    }
    if (++x->depth > MAX_DEPTH)
        return no_value(x);
    x->at += length + 1;
    if (own == 6 && memcmp(name, "Symbol", own) == 0) {
        x->depth--;
        return read_symbol(x);
    }
    for (skip_spaces(x); *x->at != ')' && *x->at != '\0' && count < MAX_OPERANDS; skip_spaces(x)) {
        const char *before = x->at;
        operands[count++] = read_expression(x);
        if (x->at == before)
            return no_value(x);
    }
    x->depth--;
    if (*x->at != ')')
        return no_value(x);
    x->at++;
    if (own == 7 && memcmp(name, "Integer", own) == 0 && count == 1)
        return operands[0];
    if (own == 8 && memcmp(name, "Rational", own) == 0 && count == 2)
        return divide(x, operands[0], operands[1]);
    return apply(x, name, own, operands, count);
}

/* Whether it is a whole number; x says what is missing. */
static bool evaluate(struct expression *x, const char *text, int64_t *out)
{
    x->at = text;
    x->has_value = true;
    struct fraction f = read_expression(x);
    *out = f.numerator;
    return x->has_value && f.denominator == 1 && *x->at == '\0';
}

/* ---- reading ---- */

int64_t nuc_read_sym_int(const struct nuc_importer *im, const struct nuc_json *j)
{
    if (j->type == NUC_JSON_INTEGER)
        return nuc_json_int(j);
    struct nuc_json value = nuc_json_union(j);
    if (strcmp(value.key, "as_int") == 0)
        return nuc_json_int(&value);
    if (strcmp(value.key, "as_name") == 0) {
        struct nuc_json known = nuc_json_field(&im->scope->graph, "sym_int_values");
        const char *name = nuc_json_string(&value);
        struct nuc_json named = nuc_json_entry(&known, name);
        struct nuc_json inner = nuc_json_is_there(&named) ? nuc_json_union(&named) : named;
        if (!nuc_json_is_there(&named) || strcmp(inner.key, "as_name") == 0)
            nuc_json_fail(&value, NUC_BAD_INPUT, "'%s' is not among the sizes of the graph", name);
        return nuc_read_sym_int(im, &named);
    }
    if (strcmp(value.key, "as_expr") != 0)
        nuc_json_fail(j, NUC_UNSUPPORTED, "'%s' is not a size", value.key);
    struct nuc_json text = nuc_json_field(&value, "expr_str");
    struct expression x = {.im = im};
    int64_t size;
    if (evaluate(&x, nuc_json_string(&text), &size))
        return size;
    if (x.open != NULL && x.open[0] == 'u')
        nuc_json_fail(
            j, NUC_UNSUPPORTED,
            "the size '%s' depends on the data, where a program has fixed memory: use a mask or a fixed number "
            "of elements",
            x.open);
    if (x.open != NULL)
        nuc_json_fail(j, NUC_UNSUPPORTED, "the size '%s' is open: give it with --size %s=N", x.open, x.open);
    nuc_json_fail(&text, NUC_UNSUPPORTED, "this size is no whole number here: export with fixed shapes");
}

bool nuc_is_about_sizes(const struct nuc_json *node)
{
    static const char *const checks[] = {"aten._assert_scalar.default", "aten._assert_async.msg",
                                         "aten._assert_async.default", "aten.sym_constrain_range.default",
                                         "aten.sym_constrain_range_for_size.default"};
    struct nuc_json outputs = nuc_json_field(node, "outputs");
    const char *name = nuc_pt2_op_name(node);
    size_t count = nuc_json_count(&outputs);

    if (nuc_is_one_of(name, checks, sizeof checks / sizeof checks[0]))
        return true;
    for (size_t i = 0; i < count; i++) {
        struct nuc_json output = nuc_json_item(&outputs, i);
        struct nuc_json value = nuc_json_union(&output);
        if (strncmp(value.key, "as_sym_", 7) != 0)
            return false;
    }
    return count != 0;
}

/* ---- values of symbols ---- */

/* A dimension of an input whose size is an expression. */
struct dimension {
    const char *input;
    unsigned dim;
    uint32_t rank; /* of the input */
    const char *expression;
    int64_t example; /* -1: the archive does not say */
};

struct dimensions {
    struct dimension *all;
    size_t count, capacity;
};

static void list_dimensions(const struct nuc_importer *im, struct dimensions *d)
{
    struct nuc_json inputs = nuc_json_field(&im->scope->graph, "inputs");

    for (size_t i = 0, count = nuc_json_count(&inputs); i < count; i++) {
        struct nuc_json input = nuc_json_item(&inputs, i);
        struct nuc_json value = nuc_json_union(&input);
        struct nuc_json name = nuc_json_maybe_member(&value, "name");
        const char *text = nuc_json_maybe_text(&name);
        if (text == NULL)
            continue;
        struct nuc_json meta = nuc_json_maybe_member(&im->scope->tensor_values, text);
        struct nuc_json sizes = nuc_json_maybe_member(&meta, "sizes");
        for (size_t k = 0; k < nuc_json_maybe_count(&sizes) && sizes.type == NUC_JSON_ARRAY; k++) {
            struct nuc_json size = nuc_json_maybe_item(&sizes, k);
            struct nuc_json open = nuc_json_maybe_member(&size, "as_expr");
            struct nuc_json written = nuc_json_maybe_member(&open, "expr_str");
            struct nuc_json hint = nuc_json_maybe_member(&open, "hint");
            struct nuc_json example = nuc_json_maybe_member(&hint, "as_int");
            if (nuc_json_maybe_text(&written) == NULL)
                continue;
            d->all = nuc_grow(im->cx, d->all, &d->capacity, d->count + 1, sizeof *d->all);
            d->all[d->count++] = (struct dimension){text, (unsigned)k, (uint32_t)nuc_json_maybe_count(&sizes),
                                                    nuc_json_maybe_text(&written),
                                                    example.type == NUC_JSON_INTEGER ? nuc_json_int(&example) : -1};
        }
    }
}

static void set_symbol(struct nuc_importer *im, const char *name, int64_t value)
{
    im->symbols = nuc_grow(im->cx, im->symbols, &im->symbols_capacity, im->n_symbols + 1, sizeof *im->symbols);
    im->symbols[im->n_symbols++] = (struct nuc_symbol){name, value};
}

static bool gives(const struct nuc_importer *im, const char *expression, const char *symbol, int64_t value,
                  int64_t size)
{
    struct expression x = {.im = im, .assumed = symbol, .value = value};
    int64_t got;

    return value >= 0 && evaluate(&x, expression, &got) && got == size;
}

/* The one open symbol of an expression gets the value that makes it `size`. */
static bool solve(struct nuc_importer *im, const char *expression, int64_t size)
{
    struct expression x = {.im = im};
    int64_t at_1, at_2, check;

    if (evaluate(&x, expression, &check))
        return check == size;
    if (x.open == NULL || x.other != NULL)
        return false;
    struct expression one = {.im = im, .assumed = x.open, .value = 1}, two = one;
    two.value = 2;
    int64_t value = -1;
    if (evaluate(&one, expression, &at_1) && evaluate(&two, expression, &at_2) && at_2 != at_1)
        value = 1 + (size - at_1) / (at_2 - at_1);
    /* Beside a s + b: quotients and the like, which grow with the symbol. */
    for (int64_t next = 0; !gives(im, expression, x.open, value, size); next++) {
        if (next > MOST_TRIED)
            return false;
        value = next;
    }
    set_symbol(im, x.open, value);
    return true;
}

static const struct dimension *find_dimension(const struct dimensions *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->count; i++) {
        char dim[16];
        size_t own = strlen(d->all[i].input);
        snprintf(dim, sizeof dim, ".%u", d->all[i].dim);
        if (length == own + strlen(dim) && memcmp(name, d->all[i].input, own) == 0 &&
            memcmp(name + own, dim, strlen(dim)) == 0)
            return &d->all[i];
    }
    return NULL;
}

static bool is_symbol_of(const struct nuc_importer *im, const struct dimensions *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++) {
        struct expression x = {.im = im};
        int64_t value;
        evaluate(&x, d->all[i].expression, &value);
        if ((x.open != NULL && strcmp(x.open, name) == 0) || (x.other != NULL && strcmp(x.other, name) == 0))
            return true;
    }
    return false;
}

static const char *open_names(const struct nuc_importer *im, const struct dimensions *d)
{
    struct nuc_text list = {.cx = im->cx};

    for (size_t i = 0; i < d->count; i++) {
        struct expression x = {.im = im};
        int64_t value;
        evaluate(&x, d->all[i].expression, &value);
        nuc_text_addf(&list, "%s%s.%u", i == 0 ? "" : ", ", d->all[i].input, d->all[i].dim);
        if (x.open != NULL)
            nuc_text_addf(&list, " (%s)", x.open);
    }
    return nuc_text_string(&list);
}

static void take_size(struct nuc_importer *im, const struct dimensions *d, const char *text)
{
    const char *sign = strchr(text, '=');
    char *end = NULL;
    long long value = sign == NULL ? -1 : strtoll(sign + 1, &end, 10);

    if (sign == NULL || end == sign + 1 || *end != '\0' || value < 0 || value > NUC_MAX_ELEMENTS)
        nuc_fail(im->cx, NUC_BAD_USAGE, "--size %s: write NAME=N with a whole number N", text);
    const char *name = nuc_format(im->cx, "%.*s", (int)(sign - text), text);
    const struct dimension *dimension = find_dimension(d, name, strlen(name));
    if (dimension == NULL && is_symbol_of(im, d, name))
        set_symbol(im, name, value);
    else if (dimension == NULL)
        nuc_fail(im->cx, NUC_BAD_USAGE, "--size %s: %s", text,
                 d->count == 0 ? "all sizes of the model are fixed: leave the option out"
                               : nuc_format(im->cx, "the model has these open sizes: %s", open_names(im, d)));
    else if (!solve(im, dimension->expression, value))
        nuc_fail(im->cx, NUC_BAD_USAGE, "--size %s: the size is %s, which cannot be %lld", text, dimension->expression,
                 value);
}

/* The array with samples of an input: of its name or number, or the only one where it is the only input. */
static const struct nuc_array *samples_of(const struct nuc_importer *im, const struct nuc_arrays *arrays,
                                          const char *input)
{
    struct nuc_json signature = nuc_json_field(&im->graph_module, "signature");
    struct nuc_json specs = nuc_json_field(&signature, "input_specs");
    const struct nuc_array *found = nuc_find_array(arrays, input), *only = NULL;
    size_t n_inputs = 0, n_arrays = 0;

    for (size_t i = 0, count = nuc_json_count(&specs); i < count; i++) {
        struct nuc_json item = nuc_json_item(&specs, i);
        struct nuc_json user = nuc_json_maybe_member(&item, "user_input");
        struct nuc_json arg = nuc_json_maybe_member(&user, "arg"), tensor = nuc_json_maybe_member(&arg, "as_tensor");
        struct nuc_json name = nuc_json_maybe_member(&tensor, "name");
        const char *text = nuc_json_maybe_text(&name);
        if (found == NULL && text != NULL && strcmp(text, input) == 0)
            found = nuc_find_array(arrays, nuc_format(im->cx, "in%zu", n_inputs));
        n_inputs += text != NULL;
    }
    for (size_t i = 0; i < arrays->count; i++) {
        bool is_label = nuc_is_label_array(arrays->items[i].name);
        only = is_label ? only : &arrays->items[i];
        n_arrays += !is_label;
    }
    return found == NULL && n_inputs == 1 && n_arrays == 1 ? only : found;
}

/* The size in the samples, which lie along axis 0: [N] + sizes, or [N * sizes[0]] + sizes[1..]. -1: they do not say. */
static int64_t sampled_size(const struct nuc_importer *im, const struct nuc_arrays *arrays, const struct dimension *d)
{
    const struct nuc_array *a = arrays != NULL ? samples_of(im, arrays, d->input) : NULL;

    if (a == NULL || (a->rank != d->rank && a->rank != d->rank + 1) || (a->rank == d->rank && d->dim == 0))
        return -1;
    return a->shape[d->dim + (a->rank - d->rank)];
}

static bool is_open(const struct nuc_importer *im, const struct dimension *d)
{
    struct expression x = {.im = im};
    int64_t value;

    return !evaluate(&x, d->expression, &value);
}

/* Sizes that are still open become those of the samples, or of the example inputs; which, is noted. */
static void take_sizes(struct nuc_importer *im, const struct dimensions *d, const struct nuc_arrays *samples,
                       const char *where)
{
    struct nuc_text taken = {.cx = im->cx};

    for (size_t i = 0; i < d->count; i++) {
        const struct dimension *one = &d->all[i];
        int64_t size = samples != NULL ? sampled_size(im, samples, one) : one->example;
        if (is_open(im, one) && size >= 0 && solve(im, one->expression, size))
            nuc_text_addf(&taken, "%s%s.%u=%lld", taken.length == 0 ? "" : ",", one->input, one->dim, (long long)size);
    }
    if (taken.length != 0)
        nuc_warn(im->cx, "%s: open sizes are those of the %s: --size %s; other numbers give another program",
                 im->zip->path, where, nuc_text_string(&taken));
}

void nuc_bind_sizes(struct nuc_importer *im, const struct nuc_sizes *sizes)
{
    struct dimensions d = {NULL, 0, 0};
    bool any = false;

    list_dimensions(im, &d);
    for (size_t i = 0; sizes != NULL && i < sizes->count; i++)
        take_size(im, &d, sizes->texts[i]);
    for (size_t i = 0; i < d.count; i++)
        any = any || is_open(im, &d.all[i]);
    if (any && sizes != NULL && (sizes->samples.path != NULL || sizes->samples.data != NULL)) {
        const struct nuc_dataset *data = nuc_dataset_for(im->cx, sizes->options, sizes->samples);
        take_sizes(im, &d, &data->arrays, "data");
    }
    take_sizes(im, &d, NULL, "example inputs");
    for (size_t i = 0; i < im->n_symbols; i++) {
        /* The range that torch.export found or was told for a symbol. */
        const struct nuc_symbol *s = &im->symbols[i];
        struct nuc_json ranges = nuc_json_optional(&im->model, "range_constraints");
        struct nuc_json range = nuc_json_maybe_member(&ranges, s->name);
        struct nuc_json least = nuc_json_maybe_member(&range, "min_val"),
                        most = nuc_json_maybe_member(&range, "max_val");
        /* 2 is what every open size is at least: torch's own check lets 1 pass (torch/_export/utils.py). */
        int64_t low = least.type == NUC_JSON_INTEGER ? nuc_json_int(&least) : 0;
        low = low == 2 ? 1 : low;
        if ((least.type == NUC_JSON_INTEGER && s->value < low) ||
            (most.type == NUC_JSON_INTEGER && s->value > nuc_json_int(&most)))
            nuc_fail(im->cx, NUC_BAD_INPUT,
                     "%s: the size '%s' is %lld, the model was exported for %lld to %s: choose such a size",
                     im->zip->path, s->name, (long long)s->value, (long long)low,
                     most.type == NUC_JSON_INTEGER ? nuc_format(im->cx, "%lld", (long long)nuc_json_int(&most))
                                                   : "any number");
    }
}
