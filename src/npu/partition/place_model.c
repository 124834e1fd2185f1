#include "npu/partition/place_model.h"

#include <string.h>

#include "algorithms/cut.h"
#include "ir/args.h"
#include "npu/support/cluster.h"
#include "npu/support/estimate.h"

struct making {
    struct nuc_place_model *m;
    const struct nuc_target *target;
    const bool *refused;
    bool (*has_int8_kernel)(enum nuc_op op);
    bool *is_part;                   /* by node id: a concatenation reads it */
    bool *has_place;                 /* by node id: it is written into the result of a concatenation */
    const struct nuc_node **compute; /* by node id: the compute node with which a node is placed; NULL: none */
    const struct nuc_node **placed;  /* compute nodes that are not refused, in the order of the graph */
    uint32_t n_placed;
    const struct nuc_node **origin; /* by node id: the value of which a compute node is a function; NULL: of none */
    const struct nuc_node **into;   /* by node id: a compute node of the same item, NULL: it stands for its item */
    bool *is_part_of_kernel;        /* by node id: the compute node takes the NPU nothing of its own */
};

static void find_compute_nodes(struct making *k)
{
    struct nuc_graph *g = k->m->g;

    k->compute = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *k->compute);
    k->placed = nuc_alloc_array(g->cx, (size_t)g->n_nodes + 1, sizeof *k->placed);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *compute = nuc_follows_cluster(n) ? n->cluster : n;
        if (nuc_is_call(n) && compute != NULL && nuc_op_kind(compute->op) != NUC_KIND_GRAPH)
            k->compute[n->id] = compute;
        if (k->compute[n->id] == n && !k->refused[n->id])
            k->placed[k->n_placed++] = n;
    }
}

/* It may be placed on either side. */
static bool is_placed(const struct making *k, const struct nuc_node *node)
{
    const struct nuc_node *compute = k->compute[node->id];

    return compute != NULL && !k->refused[compute->id];
}

/* ---- items ---- */

/* Kernels that clamp their results. */
static bool can_clamp(const struct nuc_node *node)
{
    enum nuc_family family = nuc_op_family(node->op);

    return family == NUC_FAMILY_CONV || family == NUC_FAMILY_MATRIX || family == NUC_FAMILY_BINARY ||
           family == NUC_FAMILY_POOL;
}

static bool is_boundary(const struct nuc_node *compute)
{
    enum nuc_family family = nuc_op_family(compute->op);

    return family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE;
}

/* The value that it is a function of, value by value, as far back as the NPU makes one table of all functions. */
static const struct nuc_node *origin_of(const struct making *k, const struct nuc_node *value)
{
    bool is_made = value != NULL && nuc_is_quantize(value) && is_placed(k, value);

    return is_made && k->origin[k->compute[value->id]->id] != NULL ? k->origin[k->compute[value->id]->id] : value;
}

/* Operands that vary, of an operator that goes value by value: at most two. */
static uint32_t varying_operands(const struct nuc_node *node, const struct nuc_node *operands[2])
{
    enum nuc_family family = nuc_op_family(node->op);
    uint32_t count = 0, n = family == NUC_FAMILY_MAP ? 1 : family == NUC_FAMILY_BINARY ? 2 : 0;

    for (uint32_t i = 0; i < n; i++) {
        operands[count] = nuc_quantized_operand(node, i);
        count +=
            operands[count] != NULL && !(nuc_is_static(operands[count]) && nuc_value_elements(operands[count]) == 1);
    }
    return count;
}

/* Of all placed nodes, in the order of the graph. */
static void find_functions(struct making *k)
{
    k->origin = nuc_alloc_array(k->m->g->cx, (size_t)k->m->g->next_id + 1, sizeof *k->origin);
    for (uint32_t i = 0; i < k->n_placed; i++) {
        const struct nuc_node *n = k->placed[i], *operands[2];
        uint32_t count = varying_operands(n, operands);
        if (count == 0 || nuc_is_static(operands[0]) || nuc_value_elements(operands[0]) != nuc_value_elements(n))
            continue;
        const struct nuc_node *origin = origin_of(k, operands[0]);
        if (count == 1 ||
            (origin_of(k, operands[1]) == origin && nuc_value_elements(operands[1]) == nuc_value_elements(n)))
            k->origin[n->id] = origin;
    }
}

/* The operator that computes a value, before those that only move it, when nothing else reads any of that. */
static const struct nuc_node *only_source(const struct making *k, const struct nuc_node *value)
{
    while (value != NULL && nuc_is_quantize(value) && value->n_users == 1 && is_placed(k, value)) {
        const struct nuc_node *compute = k->compute[value->id];
        if (!is_boundary(compute) && nuc_op_family(compute->op) != NUC_FAMILY_SLICE)
            return compute;
        value = nuc_quantized_operand(compute, NUC_SELF);
    }
    return NULL;
}

/* All readers of a pad are windows that see what is outside of an image. */
static const struct nuc_node *only_reader(const struct making *k, const struct nuc_node *node,
                                          bool (*is_reader)(const struct nuc_node *))
{
    const struct nuc_node *value = node->n_users == 1 ? node->users[0] : NULL;

    if (value == NULL || !nuc_is_quantize(value) || value->n_users != 1)
        return NULL;
    const struct nuc_node *reader = k->compute[value->users[0]->id];
    return reader != NULL && is_placed(k, reader) && is_reader(reader) ? reader : NULL;
}

static bool is_window(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_CONV || nuc_op_family(node->op) == NUC_FAMILY_POOL;
}

static bool is_product(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_MATRIX;
}

/* Its call may end with a table. */
static bool ends_with_table(const struct making *k, const struct nuc_node *node)
{
    return can_clamp(node) || nuc_op_family(node->op) == NUC_FAMILY_REDUCE || k->origin[node->id] != NULL;
}

static const struct nuc_node *leader_of(const struct making *k, const struct nuc_node *node)
{
    while (k->into[node->id] != NULL)
        node = k->into[node->id];
    return node;
}

static void join(struct making *k, const struct nuc_node *node, const struct nuc_node *with)
{
    const struct nuc_node *leader = with != NULL ? leader_of(k, node) : NULL;

    if (with != NULL && leader != leader_of(k, with))
        k->into[leader->id] = leader_of(k, with);
}

/* A function of one value joins the functions that it reads, or what computes its operand and nothing else reads. */
static void join_function(struct making *k, const struct nuc_node *node)
{
    const struct nuc_node *operands[2];
    uint32_t count = varying_operands(node, operands);

    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_node *before = count == 1                           ? only_source(k, operands[i])
                                        : operands[i] != k->origin[node->id] ? k->compute[operands[i]->id]
                                                                             : NULL;
        if (before != NULL && ends_with_table(k, before))
            join(k, node, before);
    }
}

/* Functions that are all that reads a value join what computes it. */
static void join_readers(struct making *k, const struct nuc_node *value)
{
    const struct nuc_node *maker = k->compute[value->id], *first = NULL;

    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *reader = k->compute[value->users[i]->id];
        if (reader == NULL || !is_placed(k, reader) || k->origin[reader->id] != value ||
            (first != NULL && leader_of(k, reader) != leader_of(k, first)))
            return;
        first = reader;
    }
    if (first != NULL && ends_with_table(k, maker))
        join(k, first, maker);
}

/*
 * What the NPU computes in one call: clamps and functions with the kernel before them, a pad with the window behind it,
 * a permuted weight with its product.
 */
static void join_nodes(struct making *k)
{
    struct nuc_graph *g = k->m->g;

    k->into = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *k->into);
    k->is_part_of_kernel = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof(bool));
    bool *has_kernel = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *has_kernel);
    for (uint32_t i = 0; i < k->n_placed; i++) {
        const struct nuc_node *n = k->placed[i], *reader = NULL;
        const struct nuc_node *weight = n->op == NUC_OP_PERMUTE ? nuc_quantized_operand(n, NUC_SELF) : NULL;
        if (nuc_op_family(n->op) == NUC_FAMILY_PAD)
            reader = only_reader(k, n, is_window);
        else if (weight != NULL && nuc_is_static(weight))
            reader = only_reader(k, n, is_product);
        else if (k->origin[n->id] != NULL)
            join_function(k, n);
        k->is_part_of_kernel[n->id] = reader != NULL;
        join(k, n, reader);
    }
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_quantize(n) && is_placed(k, n))
            join_readers(k, n);
    }
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < k->n_placed; i++) {
            const struct nuc_node *n = k->placed[i];
            if (k->is_part_of_kernel[n->id] || (k->origin[n->id] != NULL) != (round == 1))
                continue;
            bool *has = &has_kernel[leader_of(k, n)->id];
            k->is_part_of_kernel[n->id] = round == 1 && *has;
            *has = true;
        }
    }
}

static uint32_t item_at(struct making *k, const struct nuc_node *node)
{
    struct nuc_place_model *m = k->m;

    node = leader_of(k, node);
    if (m->item_of[node->id] == NUC_NO_ITEM) {
        m->items[m->n_items].node = node;
        m->item_of[node->id] = m->n_items++;
    }
    return m->item_of[node->id];
}

static void find_items(struct making *k)
{
    struct nuc_place_model *m = k->m;
    struct nuc_graph *g = m->g;

    m->items = nuc_alloc_array(g->cx, (size_t)g->n_nodes + 1, sizeof *m->items);
    m->item_of = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *m->item_of);
    memset(m->item_of, 0xFF, ((size_t)g->next_id + 1) * sizeof *m->item_of);
    for (uint32_t i = 0; i < k->n_placed; i++)
        m->item_of[k->placed[i]->id] = item_at(k, k->placed[i]);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (is_placed(k, n))
            m->item_of[n->id] = m->item_of[k->compute[n->id]->id];
    }
}

/* ---- values ---- */

/* Bytes change their order between channels first and last: an image of several channels and several pixels. */
static bool is_image(const struct nuc_node *node)
{
    const struct nuc_meta *v = node->n_vals > 0 ? &node->vals[0] : NULL;
    int64_t pixels = 1;

    if (node->format != NUC_CHANNELS_FIRST || v == NULL || v->rank < 3)
        return false;
    for (uint32_t i = 2; i < v->rank; i++)
        pixels *= v->sizes[i];
    return v->sizes[1] != 1 && pixels != 1;
}

/* Kernels of the CPU that take their images channels last. */
static bool needs_last(const struct making *k, const struct nuc_node *compute)
{
    if (compute == NULL || k->has_int8_kernel == NULL || !k->has_int8_kernel(compute->op))
        return false;
    enum nuc_family family = nuc_op_family(compute->op);
    return family == NUC_FAMILY_CONV || family == NUC_FAMILY_POOL || family == NUC_FAMILY_RESIZE;
}

/* The value of which this one is a view, by an operator that may be placed on either side; NULL: it is none. */
static const struct nuc_node *viewed(const struct making *k, const struct nuc_node *value)
{
    bool is_view =
        nuc_is_quantize(value) && is_placed(k, value) && nuc_op_family(k->compute[value->id]->op) == NUC_FAMILY_VIEW;

    return is_view ? nuc_quantized_operand(k->compute[value->id], NUC_SELF) : NULL;
}

/* Values that a concatenation reads, also as views. */
static void find_parts(struct making *k)
{
    for (uint32_t i = 0; i < k->n_placed; i++) {
        const struct nuc_node *n = k->placed[i];
        struct nuc_cursor at = {0, 0};
        if (nuc_op_family(n->op) != NUC_FAMILY_CAT)
            continue;
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            const struct nuc_node *value = nuc_is_dequantize(in) ? nuc_arg_node(in, NUC_SELF) : in;
            for (; value != NULL; value = viewed(k, value))
                k->is_part[value->id] = true;
        }
    }
}

/* Outside of partitions a part lies by itself and a contiguous image stays so; inside it is channels last, but next to
 * views. */
static void set_crossing(const struct making *k, struct nuc_place_value *v)
{
    const struct nuc_node *maker = k->compute[v->node->id];
    bool reorders = is_image(v->node) && !nuc_is_channels_last(&v->node->vals[0]);
    bool read_last = false, read_on_cpu = false;

    if (k->is_part[v->node->id])
        v->into = (int64_t)nuc_estimate_move(k->target, (uint64_t)nuc_value_elements(v->node));
    if (maker != NULL && nuc_op_family(maker->op) == NUC_FAMILY_SLICE)
        v->out = (int64_t)nuc_estimate_move(k->target, (uint64_t)nuc_value_elements(v->node));
    if (!reorders)
        return;
    for (uint32_t i = 0; i < v->node->n_users; i++) {
        const struct nuc_node *reader = k->compute[v->node->users[i]->id];
        read_last |= reader != NULL && !is_boundary(reader);
        read_on_cpu |= needs_last(k, reader);
    }
    int64_t elements = nuc_value_elements(v->node);
    const struct nuc_kernel_costs *int8 = &k->target->costs.int8;
    int64_t copy = (int64_t)nuc_cpu_cycles(int8, (double)elements, int8->element);
    if (maker == NULL || !is_boundary(maker))
        v->out = (int64_t)nuc_estimate_move(k->target, (uint64_t)elements);
    if (read_last)
        v->into += (int64_t)nuc_estimate_move(k->target, (uint64_t)elements);
    v->out += read_on_cpu ? copy : 0;
    v->into += needs_last(k, maker) ? copy : 0;
}

static void add_reader(struct nuc_place_model *m, struct nuc_place_value *v, uint32_t item)
{
    uint32_t at = v->n_readers;

    for (uint32_t i = 0; i < v->n_readers; i++) {
        if (m->readers[v->first_reader + i] == item)
            return;
    }
    for (; at > 0 && m->readers[v->first_reader + at - 1] > item; at--)
        m->readers[v->first_reader + at] = m->readers[v->first_reader + at - 1];
    m->readers[v->first_reader + at] = item;
    v->n_readers++;
}

static void find_values(struct making *k)
{
    struct nuc_place_model *m = k->m;
    size_t n_readers = 0;

    for (const struct nuc_node *n = m->g->first; n != NULL; n = n->next)
        n_readers += n->n_users;
    m->values = nuc_alloc_array(m->g->cx, (size_t)m->g->n_nodes + 1, sizeof *m->values);
    m->readers = nuc_alloc_array(m->g->cx, n_readers + 1, sizeof *m->readers);
    n_readers = 0;
    for (const struct nuc_node *n = m->g->first; n != NULL; n = n->next) {
        /* Whether the value goes from one item to another, or in or out. */
        uint32_t maker = m->item_of[n->id];
        bool touched = maker != NUC_NO_ITEM, leaves = false;

        for (uint32_t i = 0; i < n->n_users; i++) {
            uint32_t reader = m->item_of[n->users[i]->id];
            touched |= reader != NUC_NO_ITEM;
            leaves |= reader != maker;
        }
        if (!touched || !leaves || nuc_is_static(n))
            continue;
        struct nuc_place_value *v = &m->values[m->n_values++];
        *v = (struct nuc_place_value){.node = n, .maker = m->item_of[n->id], .first_reader = (uint32_t)n_readers};
        for (uint32_t i = 0; i < n->n_users; i++) {
            uint32_t reader = m->item_of[n->users[i]->id];
            if (reader == NUC_NO_ITEM)
                v->read_outside = true;
            else if (reader != v->maker)
                add_reader(m, v, reader);
        }
        n_readers += v->n_readers;
        set_crossing(k, v);
    }
}

static void count_value(struct nuc_place_model *m, uint32_t item, uint32_t value, bool is_final)
{
    struct nuc_place_item *it = &m->items[item];

    if (is_final)
        m->item_values[it->first_value + it->n_values] = value;
    it->n_values++;
}

static void list_values(struct nuc_place_model *m)
{
    size_t total = 0;

    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < m->n_values; i++) {
            const struct nuc_place_value *v = &m->values[i];
            if (v->maker != NUC_NO_ITEM)
                count_value(m, v->maker, i, round == 1);
            for (uint32_t r = 0; r < v->n_readers; r++)
                count_value(m, m->readers[v->first_reader + r], i, round == 1);
        }
        for (uint32_t i = 0; i < m->n_items && round == 0; i++) {
            m->items[i].first_value = (uint32_t)total;
            total += m->items[i].n_values;
            m->items[i].n_values = 0;
        }
        if (round == 0)
            m->item_values = nuc_alloc_array(m->g->cx, total + 1, sizeof *m->item_values);
    }
}

/* ---- cycles ---- */

/* Dimensions of more than one element keep their order. */
static bool keeps_bytes(const struct nuc_node *permute)
{
    const struct nuc_arg *dims = nuc_arg_at(permute, NUC_ARG(PERMUTE, dims));
    const struct nuc_node *input = nuc_arg_node(permute, NUC_SELF);
    int64_t last = -1;

    if (dims->kind != NUC_ARG_INTS || input == NULL || input->n_vals == 0)
        return false;
    for (uint32_t i = 0; i < dims->count; i++) {
        int64_t dim = dims->u.ints[i] + (dims->u.ints[i] < 0 ? dims->count : 0);
        if (dim < 0 || dim >= input->vals[0].rank || input->vals[0].sizes[dim] == 1)
            continue;
        if (dim < last)
            return false;
        last = dim;
    }
    return true;
}

/* A view of an image that is no longer one, or the other way: the product behind it takes its weights in that order. */
static int64_t boundary_cycles(const struct making *k, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_quantized_operand(node, NUC_SELF);
    bool from = input != NULL && is_image(input), to = is_image(node);

    if (node->op == NUC_OP_PERMUTE && (from != to || keeps_bytes(node)))
        return 0;
    if (from != to && to)
        return (int64_t)nuc_estimate_move(k->target, (uint64_t)nuc_value_elements(node));
    return node->op == NUC_OP_PERMUTE ? (int64_t)nuc_estimate_npu(k->target, node) : 0;
}

/* What the node adds to the calls of its partition: parts that are addressed in place and clamps add nothing. */
static int64_t npu_cycles(struct making *k, const struct nuc_node *node)
{
    if (nuc_op_family(node->op) == NUC_FAMILY_SLICE || k->is_part_of_kernel[node->id])
        return 0;
    if (nuc_op_family(node->op) == NUC_FAMILY_CAT) {
        /*
         * An operand is written where it belongs, unless another concatenation has it. One from outside is copied
         * anyway.
         */
        struct nuc_cursor at = {0, 0};
        int64_t sum = 0;
        for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
            const struct nuc_node *value = nuc_is_dequantize(in) ? nuc_arg_node(in, NUC_SELF) : in;
            for (const struct nuc_node *of = value; of != NULL; of = viewed(k, of))
                value = of;
            if (value == NULL)
                continue;
            if (k->has_place[value->id] && is_placed(k, value))
                sum += (int64_t)nuc_estimate_move(k->target, (uint64_t)nuc_value_elements(in));
            k->has_place[value->id] = true;
        }
        return sum;
    }
    return is_boundary(node) ? boundary_cycles(k, node) : (int64_t)nuc_estimate_npu(k->target, node);
}

static bool is_int8(const struct making *k, const struct nuc_node *node)
{
    return k->has_int8_kernel != NULL && k->has_int8_kernel(k->compute[node->id]->op);
}

/* A clamp of what computes its operand. */
static bool clamps_source(const struct making *k, const struct nuc_node *node)
{
    const struct nuc_node *operands[2];
    bool is_clamp = nuc_has_bounds(node) && varying_operands(node, operands) == 1;
    const struct nuc_node *before = is_clamp ? only_source(k, operands[0]) : NULL;

    return before != NULL && (can_clamp(before) || k->origin[before->id] != NULL);
}

/*
 * On the CPU an int8 kernel needs no quantize and dequantize nodes next to other values in int8; a float kernel has its
 * own around it.
 */
static int64_t cpu_cycles(const struct making *k, const struct nuc_node *node)
{
    if (is_int8(k, node) && (nuc_is_quantization(node) || clamps_source(k, node)))
        return 0;
    return (int64_t)nuc_estimate_cpu(k->target, node, !is_int8(k, node));
}

static void add_cycles(struct making *k)
{
    struct nuc_place_model *m = k->m;
    const struct nuc_source **last = nuc_alloc_array(m->g->cx, (size_t)m->n_items + 1, sizeof *last);

    for (const struct nuc_node *n = m->g->first; n != NULL; n = n->next) {
        if (m->item_of[n->id] == NUC_NO_ITEM)
            continue;
        struct nuc_place_item *it = &m->items[m->item_of[n->id]];
        it->npu += npu_cycles(k, n);
        /* What stands for one function of the model is a table again when it is on the CPU. */
        bool is_function = k->origin[n->id] != NULL && is_int8(k, n);
        if (is_function && last[m->item_of[n->id]] == n->source)
            continue;
        it->cpu += cpu_cycles(k, n);
        if (is_function)
            last[m->item_of[n->id]] = n->source;
    }
}

struct nuc_place_model *nuc_place_model_new(struct nuc_graph *g, const struct nuc_target *target, const bool *refused,
                                            bool (*has_int8_kernel)(enum nuc_op op))
{
    struct nuc_place_model *m = nuc_alloc(g->cx, sizeof *m);
    struct making k = {
        .m = m,
        .target = target,
        .refused = refused,
        .has_int8_kernel = has_int8_kernel,
        .is_part = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof(bool)),
        .has_place = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof(bool)),
    };

    *m = (struct nuc_place_model){.g = g, .call = target->costs.npu_call};
    find_compute_nodes(&k);
    find_functions(&k);
    join_nodes(&k);
    find_items(&k);
    find_parts(&k);
    find_values(&k);
    list_values(m);
    add_cycles(&k);
    return m;
}

/* ---- the cost of a placement ---- */

/* How many partitions read the value besides the one that makes it; `outside`: something on the CPU does. */
static uint32_t reading_partitions(const struct nuc_place_value *v, const struct nuc_proposal *proposal,
                                   uint32_t *stamp, uint32_t now, bool *outside)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < v->node->n_users; i++) {
        int32_t of = proposal->of[v->node->users[i]->id];
        *outside |= of < 0;
        if (of < 0 || of == proposal->of[v->node->id] || stamp[of] == now)
            continue;
        stamp[of] = now;
        count++;
    }
    return count;
}

int64_t nuc_place_cost(const struct nuc_place_model *m, const struct nuc_proposal *proposal)
{
    int64_t cycles = m->call * proposal->count;
    uint32_t *stamp = nuc_alloc_array(m->g->cx, (size_t)proposal->count + 1, sizeof *stamp);

    for (uint32_t i = 0; i < m->n_items; i++) {
        const struct nuc_place_item *it = &m->items[i];
        bool on_npu = proposal->of[it->node->id] >= 0;
        cycles += on_npu ? it->npu : it->cpu;
    }
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct nuc_place_value *v = &m->values[i];
        bool outside = false;
        uint32_t readers = reading_partitions(v, proposal, stamp, i + 1, &outside);
        cycles += v->into * readers;
        if (proposal->of[v->node->id] >= 0 && (outside || readers > 0))
            cycles += v->out;
    }
    return cycles;
}

/* ---- the cheapest placement without calls ---- */

/* Out of the NPU: paid when the maker is there, no, and `outlet` is yes, as soon as one reader is. */
static void add_way_out(const struct nuc_place_model *m, struct nuc_cut *cut, const struct nuc_place_value *v,
                        uint32_t outlet, int64_t cost)
{
    if (v->maker == NUC_NO_ITEM)
        return;
    if (v->read_outside) {
        nuc_cut_single(cut, v->maker, -cost);
        return;
    }
    nuc_cut_pair(cut, v->maker, outlet, (uint64_t)cost);
    for (uint32_t i = 0; i < v->n_readers; i++)
        nuc_cut_pair(cut, outlet, m->readers[v->first_reader + i], NUC_CUT_NEVER);
}

/* Into the NPU: paid when the maker is outside, yes, and `inlet` is no, as soon as one reader is. */
static void add_way_in(const struct nuc_place_model *m, struct nuc_cut *cut, const struct nuc_place_value *v,
                       uint32_t inlet, int64_t cost)
{
    if (v->maker == NUC_NO_ITEM)
        nuc_cut_single(cut, inlet, -cost);
    else
        nuc_cut_pair(cut, inlet, v->maker, (uint64_t)cost);
    for (uint32_t i = 0; i < v->n_readers; i++)
        nuc_cut_pair(cut, m->readers[v->first_reader + i], inlet, NUC_CUT_NEVER);
}

/* An item, outlet or inlet says yes on the CPU. */
void nuc_place_cut(const struct nuc_place_model *m, int64_t share, bool *on_cpu)
{
    struct nuc_context *cx = m->g->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint32_t total = m->n_items + 2 * m->n_values;
    struct nuc_cut *cut = nuc_cut_new(cx, total);
    bool *yes = nuc_alloc_array(cx, (size_t)total + 1, sizeof *yes);

    for (uint32_t i = 0; i < m->n_items; i++)
        nuc_cut_single(cut, i, m->items[i].cpu - m->items[i].npu);
    for (uint32_t i = 0; i < m->n_values; i++) {
        add_way_out(m, cut, &m->values[i], m->n_items + 2 * i, m->values[i].out + share);
        add_way_in(m, cut, &m->values[i], m->n_items + 2 * i + 1, m->values[i].into + share);
    }
    nuc_cut_solve(cut, yes);
    memcpy(on_cpu, yes, m->n_items * sizeof *on_cpu);
    nuc_pop_arena(cx, outer);
}
