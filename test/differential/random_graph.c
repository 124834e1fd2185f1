#include "random_graph.h"

#include <math.h>

#include "random_build.h"

#define MAX_TRIES 400 /* operators that do not fit are drawn again */

/* ---- numbers ---- */

struct random_state random_seeded(uint64_t seed)
{
    return (struct random_state){(seed + 1) * 0x9E3779B97F4A7C15u};
}

static uint64_t next(struct random_state *r)
{
    r->bits ^= r->bits << 13;
    r->bits ^= r->bits >> 7;
    r->bits ^= r->bits << 17;
    return r->bits;
}

int64_t random_in(struct random_state *r, int64_t lowest, int64_t highest)
{
    return lowest + (int64_t)((next(r) >> 16) % (uint64_t)(highest - lowest + 1));
}

bool random_one_of(struct random_state *r, int64_t n)
{
    return random_in(r, 1, n) == 1;
}

float random_float(struct random_state *r, float lowest, float highest)
{
    return lowest + (highest - lowest) * (float)(next(r) >> 40) / 16777216.0f;
}

/* ---- building ---- */

struct nuc_node *rb_parameter_in(struct rb *b, const int64_t *sizes, uint32_t rank, float low, float high)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, rank);
    size_t count = (size_t)nuc_elements(&meta);
    float *values = nuc_alloc_array(b->g->cx, count, sizeof *values);
    const char *name = nuc_format(b->g->cx, "p_%u", b->n_parameters);

    for (size_t i = 0; i < count; i++)
        values[i] = random_float(&b->r, low, high);
    struct nuc_node *node = nuc_add_constant(b->g, name, &meta, values);
    node->input_kind = NUC_PARAMETER;
    node->target = nuc_format(b->g->cx, "%u.weight", b->n_parameters);
    b->parameters[b->n_parameters++ % RB_MAX_PARAMETERS] = node;
    return node;
}

struct nuc_node *rb_parameter(struct rb *b, const int64_t *sizes, uint32_t rank, float range)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, rank);
    bool tie = random_one_of(&b->r, 3);

    for (unsigned i = 0; tie && i < b->n_parameters && i < RB_MAX_PARAMETERS; i++) {
        if (nuc_same_sizes(&b->parameters[i]->vals[0], &meta))
            return b->parameters[i];
    }
    return rb_parameter_in(b, sizes, rank, -range, range);
}

struct nuc_node *rb_call(struct rb *b, enum nuc_op op, const struct rb_value *x)
{
    struct nuc_node *node = nuc_add_node(b->g, NULL, op, NULL);

    nuc_set_arg_node(node, b->g, 0, x->node);
    return node;
}

static void infer(struct nuc_context *cx, void *arg)
{
    struct nuc_node *const *graph_node = arg;

    (void)cx;
    nuc_infer_shape((struct nuc_graph *)(void *)graph_node[1], graph_node[0]);
}

static bool small(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_vals; i++) {
        const struct nuc_meta *m = &node->vals[i];
        int64_t elements = nuc_elements(m);
        if (m->dtype != NUC_F32 || m->rank > 5 || elements < 1 || elements > RB_MAX_ELEMENTS)
            return false;
    }
    return true;
}

static bool fits(struct rb *b, struct nuc_node *node)
{
    void *call[] = {node, b->g};

    if (nuc_try(b->g->cx, infer, call) == NUC_OK && small(node) && b->n_values + node->n_vals <= RB_MAX_VALUES)
        return true;
    nuc_remove_node(b->g, node);
    return false;
}

bool rb_finish(struct rb *b, struct nuc_node *node, float bound)
{
    if (!fits(b, node))
        return false;
    b->values[b->n_values++] = (struct rb_value){node, bound};
    b->n_ops++;
    return true;
}

bool rb_finish_parts(struct rb *b, struct nuc_node *node, float bound)
{
    if (!fits(b, node))
        return false;
    for (uint32_t i = 0; i < node->n_vals; i++) {
        struct nuc_node *part = nuc_add_node(b->g, NULL, NUC_OP_GETITEM, NULL);
        nuc_set_arg_node(part, b->g, 0, node);
        nuc_set_arg_int(part, 1, i);
        nuc_infer_shape(b->g, part);
        b->values[b->n_values++] = (struct rb_value){part, bound};
    }
    b->n_ops++;
    return true;
}

const struct rb_value *rb_same_sizes(struct rb *b, const struct nuc_meta *m)
{
    unsigned start = (unsigned)rb_in(b, 0, b->n_values - 1);

    for (unsigned i = 0; i < b->n_values; i++) {
        const struct rb_value *v = &b->values[(start + i) % b->n_values];
        if (nuc_same_sizes(rb_meta(v), m))
            return v;
    }
    return NULL;
}

/* ---- graphs ---- */

/* Ranges that put zero points at both ends, in the middle, and near 0 for a range far away from it. */
static const float ranges[][2] = {{-2, 3}, {-2, 3}, {0, 4}, {-3, 0}, {-1, 1}, {5, 6}, {-6, -5}, {-0.01f, 40}, {0, 0}};

#define N_RANGES (sizeof ranges / sizeof ranges[0])

static int64_t spatial(struct rb *b)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 11, 12, 13, 16};

    return sizes[rb_in(b, 0, (int64_t)(sizeof sizes / sizeof sizes[0]) - 1)];
}

static void add_input(struct rb *b, struct random_graph *out, unsigned index)
{
    static const uint32_t ranks[] = {1, 2, 2, 3, 3, 4, 4, 4, 4, 4, 4, 5};
    uint32_t rank = ranks[rb_in(b, 0, (int64_t)(sizeof ranks / sizeof ranks[0]) - 1)];
    bool like_first = index != 0 && random_one_of(&b->r, 2);
    int64_t sizes[5];
    size_t range = (size_t)rb_in(b, 0, (int64_t)N_RANGES - (random_one_of(&b->r, 4) ? 1 : 2));

    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = rank == 5 ? rb_in(b, 1, 5) : spatial(b);
    if (rank > 2 && !random_one_of(&b->r, 5))
        sizes[0] = 1;
    struct nuc_meta meta = like_first ? *rb_meta(&b->values[0]) : nuc_meta_make(NUC_F32, sizes, rank);
    if (meta.rank == 4 && random_one_of(&b->r, 3))
        nuc_set_channels_last(&meta);
    out->low[index] = ranges[range][0];
    out->high[index] = ranges[range][1];
    struct nuc_node *node = nuc_add_placeholder(b->g, "x", NUC_USER_INPUT, &meta);
    float bound = fmaxf(fabsf(out->low[index]), fabsf(out->high[index]));
    b->values[b->n_values++] = (struct rb_value){node, bound};
}

/* Mostly the value made last, so that graphs are deep. */
static struct rb_value operand(struct rb *b)
{
    return b->values[random_one_of(&b->r, 3) ? rb_in(b, 0, b->n_values - 1) : (int64_t)b->n_values - 1];
}

static void add_operator(struct rb *b)
{
    static const struct rb_row *const families[] = {rb_window_rows, rb_math_rows, rb_move_rows};
    const struct rb_row *rows = families[rb_in(b, 0, 2)];
    struct rb_value x = operand(b);
    int64_t count = 0;

    while (rows[count].make != NULL)
        count++;
    const struct rb_row *row = &rows[rb_in(b, 0, count - 1)];
    row->make(b, &x, row->op);
}

/* What nobody reads, and now and then something that is read. */
static void add_output(struct rb *b)
{
    struct nuc_node *results[RB_MAX_VALUES];
    uint32_t count = 0;

    for (unsigned i = 0; i < b->n_values; i++) {
        struct nuc_node *n = b->values[i].node;
        if (!nuc_is_placeholder(n) && (n->n_users == 0 || random_one_of(&b->r, 12)))
            results[count++] = n;
    }
    struct nuc_node *output = nuc_add_node(b->g, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_nodes(output, b->g, 0, results, count);
    nuc_remove_dead(b->g);
}

struct random_graph random_graph_make(struct nuc_context *cx, uint64_t seed, unsigned n_ops)
{
    struct rb b = {.r = random_seeded(seed), .g = nuc_graph_new(cx, "random")};
    struct random_graph out = {.graph = b.g};
    unsigned n_inputs = random_one_of(&b.r, 3) ? (unsigned)rb_in(&b, 2, RANDOM_MAX_INPUTS) : 1;

    for (unsigned i = 0; i < n_inputs; i++)
        add_input(&b, &out, i);
    for (unsigned i = 0; b.n_ops < n_ops && (i < MAX_TRIES || b.n_ops == 0); i++)
        add_operator(&b);
    add_output(&b);
    nuc_graph_verify(b.g, "random");
    out.n_ops = b.n_ops;
    return out;
}
