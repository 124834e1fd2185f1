/* What keeps operators on the CPU: the one whose own rule does not hold, and those that stay there because of it. */
#include <string.h>

#include "explain/explain.h"
#include "host/index.h"
#include "npu/support/support.h"

bool nuc_is_same_call(const struct nuc_node *a, const struct nuc_node *b)
{
    return a == b ||
           (a->source->call != NULL && b->source->call != NULL && strcmp(a->source->call, b->source->call) == 0);
}

const char *nuc_written_operator(struct nuc_context *cx, const struct nuc_node *node)
{
    if (nuc_is_quantization(node))
        return nuc_is_quantize(node) ? "quantize" : "dequantize";
    const char *name = node->source->op != NULL ? node->source->op : nuc_short_op_name(nuc_node_op_name(node));
    const char *dot = strchr(name, '.'), *overload = strrchr(name, '.');

    return dot == overload ? name : nuc_format(cx, "%.*s", (int)(overload - name), name);
}

struct tracing {
    struct nuc_context *cx;
    struct nuc_explanation *e;
    uint32_t *row_of; /* by node id: index of the row + 1, 0: none */
    uint32_t n_ids;
};

static uint32_t row_of(const struct tracing *t, const struct nuc_node *node)
{
    return node != NULL && node->id < t->n_ids ? t->row_of[node->id] : 0;
}

static void index_rows(struct tracing *t)
{
    for (uint32_t i = 0; i < t->e->n_rows; i++)
        t->n_ids = t->e->rows[i].node->id >= t->n_ids ? t->e->rows[i].node->id + 1 : t->n_ids;
    t->row_of = nuc_alloc_array(t->cx, (size_t)t->n_ids + 1, sizeof *t->row_of);
    for (uint32_t i = 0; i < t->e->n_rows; i++)
        t->row_of[t->e->rows[i].node->id] = i + 1;
}

/* ---- roots ---- */

/* The row whose state the decision of row `at` follows from; `at` itself when its own rule does not hold. */
static uint32_t followed(const struct tracing *t, uint32_t at)
{
    const struct nuc_decision *d = t->e->rows[at].decision;
    const struct nuc_node *next = d->because != NULL ? d->because : d->neighbour;

    /* An operator's neighbour is past the nodes that only pass its value on. */
    while (d->because == NULL && next != NULL && (next->op == NUC_OP_GETITEM || nuc_is_quantization(next)))
        next = nuc_arg_node(next, NUC_SELF);
    uint32_t row = row_of(t, next);
    if (row == 0 || !t->e->rows[row - 1].is_operator || t->e->rows[row - 1].partition != NULL)
        return at;
    return row - 1;
}

/* An operator that the NPU does not have and that reads the value of the row in float; 0: none. Rows from 1. */
static uint32_t lacking_reader(const struct tracing *t, uint32_t at)
{
    const struct nuc_node *node = t->e->rows[at].node;

    for (uint32_t i = 0; i < node->n_users; i++) {
        uint32_t row = row_of(t, node->users[i]);
        if (row != 0 && t->e->rows[row - 1].partition == NULL &&
            t->e->rows[row - 1].decision->rule == nuc_has_operator_rule)
            return row;
    }
    return 0;
}

/*
 * The end of the chain from row `at` on. Of a chain that comes back to where it was, where each operator names the
 * other: what reads one of them in float because the NPU does not have it, a result of the model, or the first in graph
 * order. `seen` holds
 * `at` + 1 for rows that were passed.
 */
static uint32_t root_of(const struct tracing *t, uint32_t at, uint32_t *seen)
{
    uint32_t mark = at + 1, next = followed(t, at), first;

    while (next != at && seen[at] != mark) {
        seen[at] = mark;
        at = next;
        next = followed(t, at);
    }
    if (next == at)
        return at;
    first = at;
    uint32_t reader = lacking_reader(t, at), result = nuc_feeds_output(t->e->rows[at].node) ? at + 1 : 0;
    for (; next != at; next = followed(t, next)) {
        first = next < first ? next : first;
        reader = reader != 0 ? reader : lacking_reader(t, next);
        result = nuc_feeds_output(t->e->rows[next].node) ? next + 1 : result;
    }
    return reader != 0 ? reader - 1 : result != 0 ? result - 1 : first;
}

/* ---- causes ---- */

uint64_t nuc_explain_lost(const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    bool loses = e->target->npu_name != NULL && row->is_operator && row->partition == NULL && !row->decision->by_cost &&
                 row->decision->rule != nuc_has_operator_rule;

    return loses && row->cpu_cycles > row->npu_cycles ? row->cpu_cycles - row->npu_cycles : 0;
}

static uint32_t hash_of_call(const struct nuc_node *node)
{
    const char *call = node->source->call;

    return call != NULL ? nuc_index_text(call) : nuc_index_number(node->id);
}

/* Parts of one operator of the model are one cause. */
static uint32_t cause_of_root(struct nuc_context *cx, struct nuc_explanation *e, struct nuc_index *causes,
                              uint32_t root)
{
    const struct nuc_node *node = e->rows[root].node;

    for (struct nuc_index_search s = nuc_index_search(causes, hash_of_call(node)); nuc_index_next(&s);) {
        if (nuc_is_same_call(e->rows[e->causes[s.place].root].node, node))
            return s.place;
    }
    nuc_index_add(cx, causes, hash_of_call(node), e->n_causes);
    e->causes[e->n_causes] = (struct nuc_explain_cause){.root = root, .trial = NUC_NO_TRIAL};
    return e->n_causes++;
}

/* An operator that the NPU does not have says more than one whose neighbour is in float; else what loses more. */
static void choose_root(const struct nuc_explanation *e, struct nuc_explain_cause *cause, uint32_t root)
{
    const bool has = e->rows[root].decision->neighbour == NULL, had = e->rows[cause->root].decision->neighbour == NULL;

    if (has != had) {
        cause->root = has ? root : cause->root;
        return;
    }
    if (nuc_explain_lost(e, &e->rows[root]) > nuc_explain_lost(e, &e->rows[cause->root]))
        cause->root = root;
}

void nuc_explain_causes(struct nuc_context *cx, struct nuc_explanation *e)
{
    struct tracing t = {.cx = cx, .e = e};
    struct nuc_index causes = {.slots = NULL};

    index_rows(&t);
    uint32_t *seen = nuc_alloc_array(cx, (size_t)e->n_rows + 1, sizeof *seen);
    e->causes = nuc_alloc_array(cx, (size_t)e->n_rows + 1, sizeof *e->causes);
    for (uint32_t i = 0; i < e->n_rows; i++) {
        struct nuc_explain_row *row = &e->rows[i];
        row->cause = NUC_NO_CAUSE;
        if (!row->is_operator || row->partition != NULL)
            continue;
        uint32_t root = root_of(&t, i, seen);
        row->cause = cause_of_root(cx, e, &causes, root);
        choose_root(e, &e->causes[row->cause], root);
    }
    for (uint32_t i = 0; i < e->n_rows; i++) {
        if (e->rows[i].cause != NUC_NO_CAUSE) {
            struct nuc_explain_cause *cause = &e->causes[e->rows[i].cause];
            bool is_part = nuc_is_same_call(e->rows[i].node, e->rows[cause->root].node);
            cause->n_rows++;
            cause->n_parts += is_part;
            *(is_part ? &cause->part_cycles : &cause->follow_cycles) += e->rows[i].cpu_cycles;
            cause->lost_cycles += nuc_explain_lost(e, &e->rows[i]);
        }
    }
}

/* ---- splits ---- */

struct splitting {
    struct tracing t;
    const struct nuc_partitions *partitions;
    bool *between;          /* by row: on a path on the CPU from one partition to another */
    uint32_t *group;        /* by row: a row of the same group nearer to its first one */
    const uint64_t *format; /* by partition: cycles of changes of formats */
};

static bool is_on_cpu(const struct splitting *s, uint32_t row)
{
    return row != 0 && s->t.e->rows[row - 1].partition == NULL;
}

/* The node is in a partition, or on a path on the CPU that is known to lead there. */
static bool leads_to_partition(const struct splitting *s, const struct nuc_node *node, const bool *known)
{
    uint32_t row = row_of(&s->t, node);

    return row != 0 && (!is_on_cpu(s, row) || known[row - 1]);
}

static void find_between(struct splitting *s)
{
    const struct nuc_explanation *e = s->t.e;
    bool *from = nuc_alloc_array(s->t.cx, (size_t)e->n_rows + 1, sizeof *from);
    bool *to = nuc_alloc_array(s->t.cx, (size_t)e->n_rows + 1, sizeof *to);

    s->between = from;
    for (uint32_t i = 0; i < e->n_rows; i++) {
        const struct nuc_node *node = e->rows[i].node;
        struct nuc_cursor at = {0, 0};
        for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL && is_on_cpu(s, i + 1);
             in = nuc_next_input(node, &at))
            from[i] |= leads_to_partition(s, in, from);
    }
    for (uint32_t i = e->n_rows; i-- > 0;) {
        const struct nuc_node *node = e->rows[i].node;
        for (uint32_t k = 0; k < node->n_users && is_on_cpu(s, i + 1); k++)
            to[i] |= leads_to_partition(s, node->users[k], to);
    }
    for (uint32_t i = 0; i < e->n_rows; i++)
        s->between[i] = from[i] && to[i];
}

static uint32_t first_of_group(struct splitting *s, uint32_t row)
{
    while (s->group[row] != row)
        row = s->group[row] = s->group[s->group[row]];
    return row;
}

/* Rows that read one another are a group, named by its first row. */
static void find_groups(struct splitting *s)
{
    const struct nuc_explanation *e = s->t.e;

    s->group = nuc_alloc_array(s->t.cx, (size_t)e->n_rows + 1, sizeof *s->group);
    for (uint32_t i = 0; i < e->n_rows; i++) {
        struct nuc_cursor at = {0, 0};
        const struct nuc_node *node = e->rows[i].node;
        s->group[i] = i;
        if (!s->between[i])
            continue;
        for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
            uint32_t row = row_of(&s->t, in);
            if (row == 0 || !s->between[row - 1])
                continue;
            uint32_t a = first_of_group(s, row - 1), b = first_of_group(s, i);
            s->group[a < b ? b : a] = a < b ? a : b;
        }
    }
}

/* A partition at the boundary of a split: its call is saved with the first one it is met at, formats at each value. */
static void touch(struct splitting *s, struct nuc_explain_split *split, const struct nuc_node *member, bool before)
{
    struct nuc_explanation *e = s->t.e;
    const struct nuc_partition *p = &s->partitions->items[member->partition];
    const char ***tags = before ? &split->before : &split->after;
    uint32_t *count = before ? &split->n_before : &split->n_after;

    split->saved_cycles += s->format[member->partition] / (p->n_inputs + p->n_outputs);
    for (uint32_t i = 0; i < *count; i++) {
        if ((*tags)[i] == p->tag)
            return;
    }
    if (split->n_before + split->n_after > 0)
        split->saved_cycles += e->target->costs.npu_call;
    const char **longer = nuc_alloc_array(s->t.cx, (size_t)*count + 1, sizeof *longer);
    if (*count > 0)
        memcpy(longer, *tags, *count * sizeof *longer);
    longer[(*count)++] = p->tag;
    *tags = longer;
}

/* The cause of most lost cycles stands for a split of several. `met` holds split + 1 for causes that it has. */
static void add_cause(struct nuc_explanation *e, uint32_t split, uint32_t cause, uint32_t *met)
{
    struct nuc_explain_split *s = &e->splits[split];

    if (met[cause] == split + 1)
        return;
    met[cause] = split + 1;
    s->n_causes++;
    if (s->cause == NUC_NO_CAUSE || e->causes[cause].lost_cycles > e->causes[s->cause].lost_cycles)
        s->cause = cause;
}

static void add_split(struct splitting *s, uint32_t first, const uint32_t *next, uint32_t *met)
{
    struct nuc_explanation *e = s->t.e;
    uint32_t index = e->n_splits++;
    struct nuc_explain_split *split = &e->splits[index];

    *split = (struct nuc_explain_split){.cause = NUC_NO_CAUSE, .first = e->rows[first].node};
    for (uint32_t i = first + 1; i != 0; i = next[i - 1]) {
        const struct nuc_explain_row *row = &e->rows[i - 1];
        if (row->is_operator)
            add_cause(e, index, row->cause, met);
        split->saved_cycles += row->is_operator ? nuc_explain_lost(e, row) : row->cpu_cycles;
        struct nuc_cursor at = {0, 0};
        for (const struct nuc_node *in = nuc_next_input(row->node, &at); in != NULL;
             in = nuc_next_input(row->node, &at)) {
            if (row_of(&s->t, in) != 0 && in->partition >= 0)
                touch(s, split, in, true);
        }
        for (uint32_t k = 0; k < row->node->n_users; k++) {
            if (row_of(&s->t, row->node->users[k]) != 0 && row->node->users[k]->partition >= 0)
                touch(s, split, row->node->users[k], false);
        }
    }
    /* What is on the CPU for its cost alone, as the whole model was looked at, is not to be joined. */
    if (split->n_causes == 1 && e->rows[e->causes[split->cause].root].decision->by_cost)
        split->saved_cycles = 0;
}

void nuc_explain_splits(struct nuc_context *cx, struct nuc_explanation *e, const struct nuc_partitions *partitions)
{
    struct splitting s = {.t = {.cx = cx, .e = e}, .partitions = partitions};

    if (partitions->count < 2)
        return;
    index_rows(&s.t);
    find_between(&s);
    find_groups(&s);
    uint64_t *format = nuc_alloc_array(cx, (size_t)e->n_partitions + 1, sizeof *format);
    for (uint32_t i = 0; i < e->n_boundaries; i++) {
        const struct nuc_explain_boundary *b = &e->boundaries[i];
        format[b->kind == NUC_BOUNDARY_FORMAT && b->partition < e->n_partitions ? b->partition : e->n_partitions] +=
            b->cycles;
    }
    s.format = format;
    uint32_t *next = nuc_alloc_array(cx, (size_t)e->n_rows + 1, sizeof *next); /* in the group: index + 1 */
    uint32_t *last = nuc_alloc_array(cx, (size_t)e->n_rows + 1, sizeof *last); /* of the group of a first row */
    uint32_t *met = nuc_alloc_array(cx, (size_t)e->n_causes + 1, sizeof *met);
    e->splits = nuc_alloc_array(cx, (size_t)e->n_rows + 1, sizeof *e->splits);
    for (uint32_t i = 0; i < e->n_rows; i++) {
        uint32_t first = first_of_group(&s, i);
        if (first != i)
            next[last[first]] = i + 1;
        last[first] = i;
    }
    for (uint32_t i = 0; i < e->n_rows; i++) {
        if (s.between[i] && first_of_group(&s, i) == i)
            add_split(&s, i, next, met);
    }
}
