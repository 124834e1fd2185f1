#include "contract_net.h"

#include <stdio.h>
#include <string.h>

#include "graph_text/parse_graph.h"
#include "host/text.h"

#define MAX_NODES 16
#define MAX_ELEMENTS 2000

struct maker {
    struct nuc_context *cx;
    struct random_state r;
    struct nuc_text text; /* what holds so far */
    struct nuc_graph *graph;
    unsigned n_inputs, n_constants, n_ops;
    bool exact, scales;
    const char *pending; /* parsed by try_parse() */
};

static int64_t in(struct maker *m, int64_t low, int64_t high)
{
    return random_in(&m->r, low, high);
}

/* ---- text ---- */

static const char *const dtypes[] = {"float32", "float32", "float32", "int64", "int32", "int8", "uint8", "bool"};

static const char *sizes_text(struct maker *m, const int64_t *sizes, uint32_t rank)
{
    const char *text = "";

    for (uint32_t i = 0; i < rank; i++)
        text = nuc_format(m->cx, "%s%s%lld", text, i == 0 ? "" : ", ", (long long)sizes[i]);
    return text;
}

/* Contiguous half of the time, else channels-last or any order. */
static const char *order_text(struct maker *m, uint32_t rank)
{
    int64_t order[NUC_MAX_RANK];

    if (rank < 2 || in(m, 0, 1) == 0)
        return "";
    if (rank > 2 && in(m, 0, 1) == 0)
        return " channels-last";
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i;
    for (uint32_t i = rank - 1; i > 0; i--) {
        int64_t k = in(m, 0, i), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    return nuc_format(m->cx, " dim-order(%s)", sizes_text(m, order, rank));
}

/* Images are likely, as most operators are theirs; a size of 0 is not. */
static uint32_t choose_sizes(struct maker *m, int64_t *sizes)
{
    uint32_t rank = in(m, 0, 2) == 0 ? 4 : (uint32_t)in(m, 0, 6);
    bool ones = in(m, 0, 3) == 0;

    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = (ones && in(m, 0, 1) == 0) || (i == 0 && in(m, 0, 2) > 0) ? 1 : in(m, 1, rank > 4 ? 3 : 6);
    if (rank > 0 && in(m, 0, 39) == 0)
        sizes[in(m, 0, rank - 1)] = 0;
    return rank;
}

static void add_input(struct maker *m, bool floats)
{
    int64_t sizes[NUC_MAX_RANK];
    uint32_t rank = choose_sizes(m, sizes);

    nuc_text_addf(&m->text, "%%x%u = input : %s[%s]%s\n", m->n_inputs++,
                  floats ? "float32" : dtypes[in(m, 0, (int64_t)(sizeof dtypes / sizeof *dtypes) - 1)],
                  sizes_text(m, sizes, rank), order_text(m, rank));
}

/* ---- operators ---- */

static void parse(struct nuc_context *cx, void *arg)
{
    struct maker *m = arg;

    m->graph = nuc_graph_parse(cx, "contract", m->pending);
}

/* The text with a line and an output of its result; kept when it is a graph of moderate size. */
static bool try_line(struct maker *m, const char *line, const char *result)
{
    const char *before = nuc_text_string(&m->text);

    m->pending = nuc_format(m->cx, "nucleon-graph 1\n%s%s%%output = output([%s])\n", before, line, result);
    if (nuc_try(m->cx, parse, m) != NUC_OK)
        return false;
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_vals; i++) {
            if (nuc_elements(&n->vals[i]) > MAX_ELEMENTS)
                return false;
        }
    }
    nuc_text_addf(&m->text, "%s", line);
    return true;
}

static struct nuc_node *value(struct maker *m, unsigned back)
{
    struct nuc_node *n = m->graph->last;

    do
        n = n->prev;
    while (n != NULL && n->prev != NULL && (n->is_tuple || n->n_vals != 1 || back-- > 0));
    return n;
}

/* Templates: X and Y values, D a dimension of X, P a permutation, S its sizes flattened, K a number, N a small size. */
struct op_row {
    const char *call;
    unsigned flags;
};

enum {
    WILD = 1, /* steps of its operands may become many of its result's, or another choice */
    REAL = 2, /* torch has it for floats alone */
    LINE = 4  /* its result scales with its operands */
};

static const struct op_row op_rows[] = {
    {"aten.relu.default(X)", LINE},
    {"aten.abs.default(X)", LINE},
    {"aten.neg.default(X)", LINE},
    {"aten.sigmoid.default(X)", 0},
    {"aten.tanh.default(X)", 0},
    {"aten.hardtanh.default(X, -0.5, 0.75)", REAL},
    {"aten.hardswish.default(X)", REAL},
    {"aten.clamp.default(X, 0.5, -0.25)", 0},
    {"aten.clamp.default(X, none, 0.5)", 0},
    {"aten.relu6.default(X)", REAL},
    {"aten.gelu.default(X)", REAL},
    {"aten.leaky_relu.default(X, 0.1)", REAL | LINE},
    {"aten.add.Tensor(X, Y)", LINE},
    {"aten.add.Tensor(X, X)", LINE},
    {"aten.sub.Tensor(X, Y)", LINE},
    {"aten.mul.Tensor(X, Y)", 0},
    {"aten.maximum.default(X, Y)", LINE},
    {"aten.minimum.default(X, Y)", LINE},
    {"aten.mul.Scalar(X, 0.5)", LINE},
    {"aten.gt.Scalar(X, 0.25)", WILD},
    {"aten.softmax.int(X, D)", REAL},
    {"aten.log_softmax.int(X, D)", REAL},
    {"aten.mean.dim(X, [D], KEEP)", LINE},
    {"aten.sum.dim_IntList(X, [D], KEEP)", LINE},
    {"aten.mean.default(X)", LINE},
    {"aten.amax.default(X, [D], KEEP)", LINE},
    {"aten.amin.default(X, [D], KEEP)", LINE},
    {"aten.argmax.default(X, D)", WILD},
    {"aten.var.correction(X, [D])", WILD | REAL},
    {"aten.cumsum.default(X, D)", LINE},
    {"aten.permute.default(X, P)", LINE},
    {"aten.permute.default(X, P)", LINE},
    {"aten.transpose.int(X, D, 0)", LINE},
    {"aten.view.default(X, [-1])", LINE},
    {"aten.reshape.default(X, [-1])", LINE},
    {"aten.reshape.default(X, [1, -1, 1])", LINE},
    {"aten.reshape.default(X, [1, 1, -1, 1])", LINE},
    {"aten.flatten.using_ints(X, 0, D)", LINE},
    {"aten.unsqueeze.default(X, D)", LINE},
    {"aten.squeeze.dim(X, D)", LINE},
    {"aten.squeeze.default(X)", LINE},
    {"aten.slice.Tensor(X, D, N, 9)", LINE},
    {"aten.slice.Tensor(X, D, 0, 9, 2)", LINE},
    {"aten.select.int(X, D, 0)", LINE},
    {"aten.cat.default([X, X], D)", LINE},
    {"aten.cat.default([X, Y], D)", LINE},
    {"aten.stack.default([X, X], D)", LINE},
    {"aten.expand.default(X, [2, -1, -1])", LINE},
    {"aten.flip.default(X, [D])", LINE},
    {"aten.roll.default(X, [1], [D])", LINE},
    {"aten.constant_pad_nd.default(X, [1, 2], 0.5)", 0},
    {"aten.constant_pad_nd.default(X, [0, 1, 2, 0])", 0},
    {"aten.pad.default(X, [1, 1, 1, 1], \"reflect\")", 0},
    {"aten.clone.default(X)", LINE},
    {"aten.contiguous.default(X)", LINE},
    {"aten.clone.default(X, memory_format=channels-last)", LINE},
    {"aten.layer_norm.default(X, [LAST])", WILD | REAL},
    {"aten.linear.default(X, W)", LINE},
    {"aten.matmul.default(X, Y)", 0},
    {"aten.conv2d.default(X, F, none, [1, 1], [1, 1])", LINE},
    {"aten.conv2d.default(X, F, none, [2, 1])", LINE},
    {"aten.conv2d.default(X, G, none, [1, 1], [1, 1], [1, 1], CHANNELS)", LINE},
    {"aten.conv1d.default(X, V, none, [1], [1])", LINE},
    {"aten.max_pool2d.default(X, [2, 2])", LINE},
    {"aten.max_pool2d.default(X, [3, 3], [2, 2], [1, 1], [1, 1], true)", LINE},
    {"aten.max_pool2d.default(X, [9, 10], [9, 10], [0, 0], [1, 1], true)", LINE},
    {"aten.avg_pool2d.default(X, [2, 2])", REAL | LINE},
    {"aten.avg_pool2d.default(X, [9, 10], [9, 10], [0, 0], true)", REAL | LINE},
    {"aten.avg_pool2d.default(X, [3, 3], [1, 1], [1, 1])", REAL | LINE},
    {"aten.adaptive_avg_pool2d.default(X, [1, 1])", REAL | LINE},
    {"aten.upsample_nearest2d.vec(X, none, [2.0, 2.0])", LINE},
    {"aten.upsample_bilinear2d.vec(X, none, false, [2.0, 2.0])", LINE},
    {"aten.pixel_shuffle.default(X, 2)", LINE},
    {"aten.where.self(B, X, X)", WILD},
    {"aten.to.dtype(X, float32)", 0},
    {"aten.to.dtype(X, int32)", WILD},
};

static bool is_word(const char *at, const char *word)
{
    size_t n = strlen(word);

    return strncmp(at, word, n) == 0 && !(at[n] >= 'A' && at[n] <= 'Z') && !(at[n] >= 'a' && at[n] <= 'z');
}

/* A constant in front of everything, for it is a placeholder. */
static const char *constant(struct maker *m, const int64_t *sizes, uint32_t rank)
{
    const char *name = nuc_format(m->cx, "%%c%u", m->n_constants++);
    const char *before = nuc_text_string(&m->text);
    struct nuc_text text = {.cx = m->cx};

    nuc_text_addf(&text, "%s = parameter \"%s\" : float32[%s] values(", name, name + 1, sizes_text(m, sizes, rank));
    for (int64_t i = 0; i < 7; i++)
        nuc_text_addf(&text, "%s%.3g", i == 0 ? "" : ", ", (double)random_float(&m->r, -0.7f, 0.7f));
    nuc_text_addf(&text, ")\n%s", before);
    m->text = text;
    return name;
}

static const char *permutation(struct maker *m, uint32_t rank)
{
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i;
    for (uint32_t i = rank; i-- > 1;) {
        int64_t k = in(m, 0, i), kept = dims[i];
        dims[i] = dims[k];
        dims[k] = kept;
    }
    return nuc_format(m->cx, "[%s]", sizes_text(m, dims, rank));
}

/* What stands for a letter of a template, or NULL for a letter that stands for itself. */
static const char *filled(struct maker *m, const char *at, const struct nuc_node *x, const struct nuc_node *y)
{
    const struct nuc_meta *v = &x->vals[0];
    int64_t channels = v->rank > 1 ? v->sizes[1] : 1, last = v->rank > 0 ? v->sizes[v->rank - 1] : 1;

    if (is_word(at, "X"))
        return nuc_format(m->cx, "%%%s", x->name);
    if (is_word(at, "Y"))
        return nuc_format(m->cx, "%%%s", y->name);
    if (is_word(at, "D"))
        return nuc_format(m->cx, "%lld",
                          (long long)in(m, v->rank > 0 ? -(int64_t)v->rank : 0, v->rank > 0 ? v->rank - 1 : 0));
    if (is_word(at, "N"))
        return nuc_format(m->cx, "%lld", (long long)in(m, 0, 2));
    if (is_word(at, "P"))
        return permutation(m, v->rank);
    if (is_word(at, "KEEP"))
        return in(m, 0, 1) == 0 ? "true" : "false";
    if (is_word(at, "LAST"))
        return nuc_format(m->cx, "%lld", (long long)last);
    if (is_word(at, "CHANNELS"))
        return nuc_format(m->cx, "%lld", (long long)channels);
    if (is_word(at, "W"))
        return constant(m, (const int64_t[]){3, last}, 2);
    if (is_word(at, "F"))
        return constant(m, (const int64_t[]){4, channels, 3, 3}, 4);
    if (is_word(at, "G"))
        return constant(m, (const int64_t[]){channels, 1, 3, 3}, 4);
    if (is_word(at, "V"))
        return constant(m, (const int64_t[]){4, channels, 3}, 3);
    return NULL;
}

static bool add_op(struct maker *m)
{
    const struct op_row *row = &op_rows[in(m, 0, (int64_t)(sizeof op_rows / sizeof *op_rows) - 1)];
    const struct nuc_node *x = value(m, (unsigned)in(m, 0, 1)), *y = value(m, (unsigned)in(m, 0, 3));
    const struct nuc_text kept = m->text;
    const unsigned n_constants = m->n_constants;
    struct nuc_text call = {.cx = m->cx};
    bool in_text = false;

    if ((row->flags & REAL) != 0 && x->vals[0].dtype != NUC_F32)
        return false;
    for (const char *p = row->call; *p != '\0'; p++) {
        bool start = p == row->call || !((p[-1] >= 'A' && p[-1] <= 'Z') || (p[-1] >= 'a' && p[-1] <= 'z'));
        in_text = in_text != (*p == '"');
        const char *word = start && !in_text && *p >= 'A' && *p <= 'Z' ? filled(m, p, x, y) : NULL;
        nuc_text_addf(&call, "%s", word != NULL ? word : nuc_format(m->cx, "%c", *p));
        while (word != NULL && p[1] >= 'A' && p[1] <= 'Z')
            p++;
    }
    const char *result = nuc_format(m->cx, "%%v%u", m->n_ops);
    if (!try_line(m, nuc_format(m->cx, "%s = %s\n", result, nuc_text_string(&call)), result)) {
        m->text = kept;
        m->n_constants = n_constants;
        return false;
    }
    m->n_ops++;
    m->scales = m->scales && (row->flags & LINE) != 0;
    m->exact = m->exact && (row->flags & WILD) == 0;
    return true;
}

/* ---- the model ---- */

/* The last value, and what a careless model gives besides. */
static const char *outputs(struct maker *m)
{
    const char *last = m->n_ops > 0 ? nuc_format(m->cx, "%%v%u", m->n_ops - 1) : "%x0";
    const char *list = last;

    if (in(m, 0, 7) == 0)
        list = nuc_format(m->cx, "%s, %s", list, last);
    if (m->n_inputs > 0 && in(m, 0, 7) == 0)
        list = nuc_format(m->cx, "%%x%lld, %s", (long long)in(m, 0, m->n_inputs - 1), list);
    if (m->n_constants > 0 && in(m, 0, 7) == 0) {
        m->scales = false;
        list = nuc_format(m->cx, "%s, %%c0", list);
    }
    if (m->n_ops > 1 && in(m, 0, 3) == 0)
        list = nuc_format(m->cx, "%s, %%v%lld", list, (long long)in(m, 0, m->n_ops - 2));
    return list;
}

struct net net_make(struct nuc_context *cx, uint64_t seed, bool floats)
{
    struct maker m = {.cx = cx, .r = random_seeded(seed), .text = {.cx = cx}, .exact = true, .scales = true};
    int64_t n_ops = in(&m, 0, 9) == 0 ? 0 : in(&m, 1, 5), n_inputs = in(&m, 0, 3) == 0 ? 2 : 1;
    bool no_inputs = in(&m, 0, 29) == 0;

    if (no_inputs)
        constant(&m, (const int64_t[]){1, 3, 4, 4}, 4);
    for (int64_t i = 0; i < n_inputs && !no_inputs; i++)
        add_input(&m, floats);
    if (!try_line(&m, "", no_inputs ? "%c0" : "%x0"))
        nuc_fail(cx, NUC_INTERNAL, "an input is none");
    for (int tries = 0; tries < 200 && (m.n_ops < n_ops || (no_inputs && m.n_ops == 0)); tries++)
        add_op(&m);
    m.pending = nuc_format(cx, "nucleon-graph 1\n%s%%output = output([%s])\n", nuc_text_string(&m.text),
                           m.n_ops == 0 && no_inputs ? "%c0" : outputs(&m));
    parse(cx, &m);
    return (struct net){m.graph, m.pending, m.exact, m.scales && m.n_inputs > 0};
}
