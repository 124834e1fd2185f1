/* Nodes, their arguments and users. */
#include <assert.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/names.h"

/* ---- values: most tensors of a graph have the meta of others, and share it with them ---- */

void *nuc_graph_alloc(struct nuc_graph *g, size_t size)
{
    return nuc_alloc_in(g->cx, nuc_memory_of(g->memory), size);
}

/* Open addressing; metas are never removed. */
struct nuc_meta_table {
    const struct nuc_meta **entries;
    uint32_t capacity; /* power of two */
    uint32_t used;
};

#define FIRST_CAPACITY 16u

static uint32_t hash_meta(const struct nuc_meta *m)
{
    uint64_t h = 14695981039346656037u ^ (uint64_t)m->dtype << 8 ^ m->rank;

    for (uint8_t i = 0; i < m->rank; i++)
        h = (h ^ (uint64_t)m->sizes[i] << 8 ^ m->dim_order[i]) * 1099511628211u;
    return (uint32_t)(h ^ h >> 32);
}

static const struct nuc_meta **find_meta(const struct nuc_meta_table *t, const struct nuc_meta *meta)
{
    uint32_t i = hash_meta(meta) & (t->capacity - 1);

    while (t->entries[i] != NULL && !nuc_meta_equal(t->entries[i], meta))
        i = (i + 1) & (t->capacity - 1);
    return &t->entries[i];
}

static void make_entries(struct nuc_graph *g, struct nuc_meta_table *t, uint32_t capacity)
{
    t->entries = nuc_graph_alloc(g, capacity * sizeof(const struct nuc_meta *));
    t->capacity = capacity;
}

void nuc_set_val(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta)
{
    struct nuc_meta_table *t = g->metas;
    const struct nuc_meta **entry = find_meta(t, meta);

    assert(meta->rank <= NUC_MAX_RANK);
    if (*entry == NULL) {
        *entry = nuc_copy_out(g->cx, nuc_memory_of(g->memory), meta, sizeof *meta);
        t->used++;
    }
    node->is_tuple = false;
    node->n_vals = 1;
    node->vals = *entry;
    if (2 * t->used > t->capacity) {
        const struct nuc_meta_table old = *t;
        make_entries(g, t, 4 * old.capacity);
        for (uint32_t i = 0; i < old.capacity; i++) {
            if (old.entries[i] != NULL)
                *find_meta(t, old.entries[i]) = old.entries[i];
        }
    }
}

void nuc_set_tuple(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *metas, uint32_t count)
{
    node->is_tuple = true;
    node->n_vals = count;
    node->vals = nuc_copy_out(g->cx, nuc_memory_of(g->memory), metas, count * sizeof *metas);
}

/* ---- the list ---- */

/* The first node that is no placeholder, from `node` on. */
static struct nuc_node *body_from(struct nuc_node *node)
{
    while (node != NULL && nuc_is_placeholder(node))
        node = node->next;
    return node;
}

static void link_before(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *before)
{
    node->next = before;
    node->prev = before == NULL ? g->last : before->prev;
    if (node->prev == NULL)
        g->first = node;
    else
        node->prev->next = node;
    if (before == NULL)
        g->last = node;
    else
        before->prev = node;
    if (!nuc_is_placeholder(node) && (before == g->body || (before != NULL && nuc_is_placeholder(before))))
        g->body = body_from(before == g->body ? node : g->first);
}

static void unlink_node(struct nuc_graph *g, struct nuc_node *node)
{
    if (node == g->body)
        g->body = body_from(node->next);
    if (node->prev == NULL)
        g->first = node->next;
    else
        node->prev->next = node->next;
    if (node->next == NULL)
        g->last = node->prev;
    else
        node->next->prev = node->prev;
    node->prev = node->next = NULL;
}

/* For nodes, of which there are none yet. */
static void take_memory(struct nuc_graph *g)
{
    g->memory = nuc_enter_sub_arena(g->cx);
    nuc_leave_sub_arena(g->cx, g->memory);
    g->metas = nuc_graph_alloc(g, sizeof *g->metas);
    make_entries(g, g->metas, FIRST_CAPACITY);
    g->nodes = g->args = (struct nuc_graph_pool){NULL, 0, 0};
    g->first = g->last = g->body = NULL;
}

struct nuc_graph *nuc_graph_new(struct nuc_context *cx, const char *file)
{
    struct nuc_graph *g = nuc_alloc(cx, sizeof *g);

    g->cx = cx;
    g->file = nuc_strdup(cx, file);
    g->names = nuc_names_new(cx);
    take_memory(g);
    return g;
}

#define FIRST_BLOCK ((size_t)2 * 1024)
#define LAST_BLOCK ((size_t)64 * 1024)

/* What is taken one after the other lies so in memory, without gaps: that is how it is fetched fastest. */
static void *take(struct nuc_graph *g, struct nuc_graph_pool *pool, size_t size)
{
    if (pool->next == NULL || pool->left < size) {
        size_t block = 2 * pool->block < FIRST_BLOCK ? FIRST_BLOCK : 2 * pool->block;
        pool->block = block > LAST_BLOCK ? LAST_BLOCK : block;
        pool->left = size > pool->block ? size : pool->block;
        pool->next = nuc_graph_alloc(g, pool->left);
    }
    void *taken = pool->next;
    pool->next += size;
    pool->left -= size;
    return taken;
}

static const struct nuc_source unknown_source = {.file = NULL};

struct nuc_node *nuc_add_node(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const char *name)
{
    const struct nuc_schema *schema = nuc_op_schema(op);
    struct nuc_node *node = take(g, &g->nodes, sizeof *node);

    node->n_args = schema->n_args;
    node->args = take(g, &g->args, schema->n_args * sizeof *node->args);
    node->id = g->next_id++;
    node->op = op;
    node->dialect = NUC_EDGE;
    if (nuc_op_in_dialect(op, NUC_ATEN) && (g->dialect == NUC_ATEN || !nuc_op_in_dialect(op, NUC_EDGE)))
        node->dialect = NUC_ATEN;
    node->name = nuc_claim_name(g, node, name);
    node->partition = -1;
    node->source = &unknown_source;
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (schema->args[i].has_default)
            node->args[i] = schema->args[i].fallback;
    }
    link_before(g, node, before);
    g->n_nodes++;
    g->n_of_op[op]++;
    return node;
}

void nuc_set_op(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op)
{
    g->n_of_op[node->op]--;
    g->n_of_op[op]++;
    node->op = op;
}

struct nuc_node *nuc_add_placeholder(struct nuc_graph *g, const char *name, enum nuc_input_kind kind,
                                     const struct nuc_meta *meta)
{
    struct nuc_node *node = nuc_add_node(g, g->body, NUC_OP_PLACEHOLDER, name);

    node->input_kind = kind;
    nuc_set_val(g, node, meta);
    return node;
}

struct nuc_node *nuc_add_constant(struct nuc_graph *g, const char *name, const struct nuc_meta *meta, const void *bytes)
{
    struct nuc_node *node = nuc_add_placeholder(g, name, NUC_CONSTANT, meta);

    node->data = nuc_dense_data(g->cx, meta, nuc_copy(g->cx, bytes, nuc_bytes(meta)));
    node->target = node->name;
    return node;
}

/* ---- users ---- */

bool nuc_is_user(const struct nuc_node *node, const struct nuc_node *user)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i] == user)
            return true;
    }
    return false;
}

struct nuc_node *nuc_past_views(struct nuc_node *value)
{
    while (value != NULL && nuc_is_call(value) && nuc_op_family(value->op) == NUC_FAMILY_VIEW)
        value = nuc_arg_node(value, NUC_SELF);
    return value;
}

bool nuc_feeds_output(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op == NUC_OP_OUTPUT)
            return true;
    }
    return false;
}

bool nuc_has_in_place(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->in_place)
            return true;
    }
    return false;
}

static void add_user(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *user)
{
    if (nuc_is_user(node, user))
        return;
    if (node->n_users == node->users_capacity) {
        uint32_t capacity = node->users_capacity == 0 ? 1 : 4 * node->users_capacity;
        struct nuc_node **users =
            capacity == 1 ? &node->first_user : nuc_graph_alloc(g, capacity * sizeof(struct nuc_node *));
        for (uint32_t i = 0; i < node->n_users; i++)
            users[i] = node->users[i];
        node->users_capacity = capacity;
        node->users = users;
    }
    node->users[node->n_users++] = user;
}

static bool reads(const struct nuc_node *user, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < user->n_args; i++) {
        const struct nuc_arg *a = &user->args[i];
        if (a->kind == NUC_ARG_NODE && a->u.node == node)
            return true;
        for (uint32_t k = 0; a->kind == NUC_ARG_NODES && k < a->count; k++) {
            if (a->u.nodes[k] == node)
                return true;
        }
    }
    return false;
}

/* `user` gave up one use of `node`: it stops being a user when that was the last. */
static void drop_user(struct nuc_node *node, const struct nuc_node *user)
{
    if (node == NULL || reads(user, node))
        return;
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i] == user) {
            memmove(&node->users[i], &node->users[i + 1], (node->n_users - i - 1) * sizeof *node->users);
            node->n_users--;
            return;
        }
    }
}

/* Empties an argument; the nodes it named are not read through it any more. */
static void clear_arg(struct nuc_node *node, uint32_t index)
{
    struct nuc_arg old = node->args[index];

    node->args[index] = (struct nuc_arg){.kind = NUC_ARG_NONE};
    if (old.kind == NUC_ARG_NODE)
        drop_user(old.u.node, node);
    for (uint32_t k = 0; old.kind == NUC_ARG_NODES && k < old.count; k++)
        drop_user(old.u.nodes[k], node);
}

static void put_arg(struct nuc_node *node, uint32_t index, struct nuc_arg arg)
{
    assert(index < node->n_args);
    clear_arg(node, index);
    arg.given = true;
    node->args[index] = arg;
}

void nuc_set_arg_node(struct nuc_node *node, struct nuc_graph *g, uint32_t index, struct nuc_node *value)
{
    if (value == NULL) {
        put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_NONE});
        return;
    }
    assert(value->id < g->next_id && value != node);
    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_NODE, .u.node = value});
    add_user(g, value, node);
}

void nuc_set_arg_nodes(struct nuc_node *node, struct nuc_graph *g, uint32_t index, struct nuc_node *const *values,
                       uint32_t count)
{
    struct nuc_node **copy = nuc_graph_alloc(g, count * sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < count; i++)
        copy[i] = values[i];
    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_NODES, .count = count, .u.nodes = copy});
    for (uint32_t i = 0; i < count; i++) {
        if (copy[i] != NULL)
            add_user(g, copy[i], node);
    }
}

void nuc_set_arg_int(struct nuc_node *node, uint32_t index, int64_t value)
{
    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_INT, .u.i = value});
}

void nuc_set_arg_ints(struct nuc_node *node, struct nuc_graph *g, uint32_t index, const int64_t *values, uint32_t count)
{
    const int64_t *copy = nuc_copy(g->cx, values, count * sizeof *values);

    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_INTS, .count = count, .u.ints = copy});
}

void nuc_set_arg_float(struct nuc_node *node, uint32_t index, double value)
{
    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_FLOAT, .u.f = value});
}

void nuc_set_arg_bool(struct nuc_node *node, uint32_t index, bool value)
{
    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_BOOL, .u.b = value});
}

void nuc_set_arg_string(struct nuc_node *node, uint32_t index, const char *value)
{
    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_STRING, .u.string = value});
}

void nuc_set_arg_dtype(struct nuc_node *node, uint32_t index, enum nuc_dtype value)
{
    put_arg(node, index, (struct nuc_arg){.kind = NUC_ARG_DTYPE, .u.dtype = value});
}

/* ---- rewriting ---- */

void nuc_replace_input(struct nuc_graph *g, struct nuc_node *user, struct nuc_node *from, struct nuc_node *to)
{
    for (uint32_t i = 0; i < user->n_args; i++) {
        struct nuc_arg *a = &user->args[i];
        if (a->kind == NUC_ARG_NODE && a->u.node == from)
            a->u.node = to;
        for (uint32_t k = 0; a->kind == NUC_ARG_NODES && k < a->count; k++) {
            if (a->u.nodes[k] == from)
                a->u.nodes[k] = to;
        }
    }
    drop_user(from, user);
    if (reads(user, to))
        add_user(g, to, user);
}

void nuc_replace_uses(struct nuc_graph *g, struct nuc_node *from, struct nuc_node *to, const struct nuc_node *except)
{
    uint32_t kept = 0;

    if (from == to)
        return;
    while (from->n_users > kept) {
        struct nuc_node *user = from->users[kept];
        if (user == except)
            kept++;
        else
            nuc_replace_input(g, user, from, to);
    }
}

void nuc_remove_node(struct nuc_graph *g, struct nuc_node *node)
{
    if (node->n_users != 0)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s is removed but still read by '%s'", g->file, nuc_node_text(g->cx, node),
                 node->users[0]->name);
    for (uint32_t i = 0; i < node->n_args; i++)
        clear_arg(node, i);
    nuc_release_name(g, node);
    unlink_node(g, node);
    g->n_nodes--;
    g->n_of_op[node->op]--;
}

void nuc_move_before(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *before)
{
    if (node == before)
        return;
    assert(before == NULL || before->id < g->next_id);
    unlink_node(g, node);
    link_before(g, node, before);
}

void nuc_remove_dead(struct nuc_graph *g)
{
    struct nuc_node *prev;

    for (struct nuc_node *n = g->last; n != NULL; n = prev) {
        prev = n->prev;
        bool is_root = n->op == NUC_OP_OUTPUT || nuc_is_input(n);
        if (!is_root && n->n_users == 0)
            nuc_remove_node(g, n);
    }
}

/* ---- reading ---- */

struct nuc_node *nuc_next_input(const struct nuc_node *node, struct nuc_cursor *at)
{
    for (; at->argument < node->n_args; at->argument++, at->element = 0) {
        const struct nuc_arg *a = &node->args[at->argument];
        uint32_t count = a->kind == NUC_ARG_NODES ? a->count : a->kind == NUC_ARG_NODE ? 1 : 0;
        while (at->element < count) {
            struct nuc_node *input = a->kind == NUC_ARG_NODE ? a->u.node : a->u.nodes[at->element];
            at->element++;
            if (input != NULL)
                return input;
        }
    }
    return NULL;
}

const bool *nuc_nodes_that_vary(const struct nuc_graph *g)
{
    bool *varies = nuc_alloc_array(g->cx, g->next_id, sizeof *varies);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_cursor at = {0, 0};
        varies[n->id] = nuc_is_input(n);
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            varies[n->id] |= varies[in->id];
    }
    return varies;
}

uint32_t nuc_inputs(const struct nuc_node *node, struct nuc_node **out, uint32_t max)
{
    struct nuc_cursor at = {0, 0};
    uint32_t count = 0;

    for (struct nuc_node *input = nuc_next_input(node, &at); input != NULL; input = nuc_next_input(node, &at)) {
        if (count < max)
            out[count] = input;
        count++;
    }
    return count;
}

struct nuc_node *nuc_output_node(const struct nuc_graph *g)
{
    return g->last != NULL && g->last->op == NUC_OP_OUTPUT ? g->last : NULL;
}

uint32_t nuc_n_states(const struct nuc_graph *g)
{
    uint32_t count = 0;

    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next)
        count += nuc_is_state(n);
    return count;
}

struct nuc_states nuc_states_of(const struct nuc_graph *g)
{
    struct nuc_states states = {.count = nuc_n_states(g)};
    uint32_t at = 0;

    if (states.count == 0)
        return states;
    states.first_next = nuc_n_results(g);
    states.nodes = nuc_alloc_array(g->cx, states.count, sizeof *states.nodes);
    for (struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (nuc_is_state(n))
            states.nodes[at++] = n;
    }
    return states;
}

uint32_t nuc_n_results(const struct nuc_graph *g)
{
    return nuc_output_node(g)->args[NUC_ARG(OUTPUT, values)].count - nuc_n_states(g);
}

/* ---- copies, so that a stage can rewrite its own and leave its input as it was ---- */

/* A node with its arguments and value, which still names nodes of the other graph. */
static struct nuc_node *copy_node(struct nuc_graph *to, const struct nuc_node *from)
{
    struct nuc_node *node = take(to, &to->nodes, sizeof *node);
    const size_t size = from->n_args * sizeof *from->args;

    *node = *from;
    node->args = memcpy(take(to, &to->args, size), from->args, size);
    link_before(to, node, NULL);
    if (from->is_tuple)
        nuc_set_tuple(to, node, from->vals, from->n_vals);
    else if (from->n_vals != 0)
        nuc_set_val(to, node, from->vals);
    return node;
}

static struct nuc_node **same_nodes(struct nuc_graph *to, struct nuc_node *const *nodes, uint32_t count,
                                    struct nuc_node *const *copies)
{
    struct nuc_node **same = nuc_graph_alloc(to, count * sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < count; i++)
        same[i] = nodes[i] == NULL ? NULL : copies[nodes[i]->id];
    return same;
}

/* What a copy names. */
static void name_copies(struct nuc_graph *to, struct nuc_node *node, struct nuc_node *const *copies)
{
    for (struct nuc_arg *a = node->args; a < node->args + node->n_args; a++) {
        if (a->kind == NUC_ARG_NODE)
            a->u.node = copies[a->u.node->id];
        else if (a->kind == NUC_ARG_NODES)
            a->u.nodes = same_nodes(to, a->u.nodes, a->count, copies);
    }
    if (node->n_users == 1) {
        node->first_user = copies[node->users[0]->id];
        node->users = &node->first_user;
    } else {
        node->users = same_nodes(to, node->users, node->n_users, copies);
    }
    node->users_capacity = node->n_users;
    if (node->cluster != NULL)
        node->cluster = copies[node->cluster->id];
}

/* By id in `from`. */
static struct nuc_node **copy_nodes(struct nuc_graph *to, const struct nuc_graph *from)
{
    struct nuc_node **copies = nuc_alloc_array(to->cx, from->next_id, sizeof(struct nuc_node *));

    for (const struct nuc_node *n = from->first; n != NULL; n = n->next)
        copies[n->id] = copy_node(to, n);
    for (struct nuc_node *n = to->first; n != NULL; n = n->next)
        name_copies(to, n, copies);
    return copies;
}

struct nuc_graph *nuc_graph_copy(const struct nuc_graph *g)
{
    struct nuc_graph *to = nuc_graph_new(g->cx, g->file);
    struct nuc_node *const *copies = copy_nodes(to, g);

    to->call_spec = g->call_spec;
    to->dialect = g->dialect;
    to->n_nodes = g->n_nodes;
    memcpy(to->n_of_op, g->n_of_op, sizeof to->n_of_op);
    nuc_names_copy(to, g, copies);
    for (struct nuc_node *n = to->first; n != NULL; n = n->next)
        n->id = to->next_id++;
    return to;
}

void nuc_graph_gather(struct nuc_graph *g)
{
    struct nuc_graph gathered = *g;

    take_memory(&gathered);
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    nuc_names_follow(g, copy_nodes(&gathered, g));
    nuc_pop_arena(g->cx, outer);
    nuc_free_sub_arena(g->memory);
    *g = gathered;
}

void nuc_graph_let_go(struct nuc_graph *g)
{
    nuc_free_sub_arena(g->memory);
    g->memory = NULL;
    g->first = g->last = g->body = NULL;
    nuc_names_let_go(g);
}
