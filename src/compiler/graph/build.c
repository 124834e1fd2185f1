/* Nodes, their names, arguments and users. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "compiler/graph/graph.h"
#include "compiler/graph/values.h"

/* ---- names: open addressing, never shrinks; a removed name leaves a tombstone so that probing goes on ---- */

struct name_entry {
    const char *name;      /* NULL: never used */
    struct nuc_node *node; /* NULL: the node of that name is removed */
    uint32_t next_suffix;  /* next number to try when the name is asked for again */
    uint32_t hash;         /* of the name: other names are told apart, and tables grow, without reading them */
};

struct nuc_name_table {
    struct name_entry *entries;
    size_t capacity; /* power of two */
    size_t used;
    struct nuc_sub_arena *memory; /* of a long table, which goes when the table grows; NULL: the graph's arena */
};

#define SHORT_TABLE 64 /* entries */
#define LONG_TABLE 4096

static uint32_t hash_name(const char *name)
{
    uint64_t h = 14695981039346656037u;

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * 1099511628211u;
    return (uint32_t)(h ^ h >> 32);
}

static struct name_entry *find_hashed(const struct nuc_name_table *t, const char *name, uint32_t hash)
{
    size_t i = hash & (t->capacity - 1);

    while (t->entries[i].name != NULL && t->entries[i].name != name &&
           (t->entries[i].hash != hash || strcmp(t->entries[i].name, name) != 0))
        i = (i + 1) & (t->capacity - 1);
    return &t->entries[i];
}

static struct name_entry *find_entry(const struct nuc_name_table *t, const char *name)
{
    return find_hashed(t, name, hash_name(name));
}

/* Where an entry whose name the table does not have goes. */
static struct name_entry *free_entry(const struct nuc_name_table *t, uint32_t hash)
{
    size_t i = hash & (t->capacity - 1);

    while (t->entries[i].name != NULL)
        i = (i + 1) & (t->capacity - 1);
    return &t->entries[i];
}

/* `capacity`: a power of two, more than it has. */
static void grow_names(struct nuc_context *cx, struct nuc_name_table *t, size_t capacity)
{
    struct nuc_name_table larger = {NULL, capacity, t->used, NULL};

    if (larger.capacity >= LONG_TABLE)
        larger.memory = nuc_enter_sub_arena(cx);
    larger.entries = nuc_alloc_array(cx, larger.capacity, sizeof *larger.entries);
    if (larger.memory != NULL)
        nuc_leave_sub_arena(cx, larger.memory);
    for (size_t i = 0; i < t->capacity; i++) {
        if (t->entries[i].name != NULL)
            *free_entry(&larger, t->entries[i].hash) = t->entries[i];
    }
    nuc_free_sub_arena(t->memory);
    *t = larger;
}

void nuc_graph_reserve(struct nuc_graph *g, uint32_t n_nodes)
{
    size_t capacity = SHORT_TABLE;

    while (capacity * 3 <= (size_t)n_nodes * 4)
        capacity *= 2;
    if (capacity > g->names->capacity)
        grow_names(g->cx, g->names, capacity);
}

/* `lasts`: the name lives as long as the graph, and is not copied. */
static struct name_entry *enter_name(struct nuc_graph *g, const char *name, bool lasts)
{
    struct nuc_name_table *t = g->names;

    if (t->used * 4 >= t->capacity * 3)
        grow_names(g->cx, t, 2 * t->capacity);
    uint32_t hash = hash_name(name);
    struct name_entry *e = find_hashed(t, name, hash);
    if (e->name == NULL) {
        e->name = lasts ? name : nuc_strdup(g->cx, name);
        e->hash = hash;
        t->used++;
    }
    return e;
}

/* "wanted_7", which may be the name that the node has. */
static const char *numbered(struct nuc_graph *g, const struct nuc_node *node, const char *wanted, uint32_t number)
{
    size_t length = strlen(wanted);
    char suffix[16];

    snprintf(suffix, sizeof suffix, "_%u", (unsigned)number);
    if (node->name != NULL && strncmp(node->name, wanted, length) == 0 && strcmp(node->name + length, suffix) == 0)
        return node->name;
    return nuc_format(g->cx, "%s%s", wanted, suffix);
}

static const char *claim_name(struct nuc_graph *g, struct nuc_node *node, const char *wanted, bool lasts)
{
    struct name_entry *e = enter_name(g, wanted, lasts);

    while (e->node != NULL) {
        uint32_t suffix = ++find_entry(g->names, wanted)->next_suffix;
        e = enter_name(g, numbered(g, node, wanted, suffix), true);
    }
    e->node = node;
    return e->name;
}

static void release_name(struct nuc_graph *g, const struct nuc_node *node)
{
    struct name_entry *e = find_entry(g->names, node->name);

    if (e->node == node)
        e->node = NULL;
}

#define MAX_NAME 256 /* of an operator, with a '_' for each character */

/*
 * "edge.aten.add.Tensor" -> "aten_add_tensor"; "quantized_decomposed.x.default" keeps its namespace. As in torch.fx a
 * capital after a small letter starts a word: "dim_IntList" -> "dim_int_list".
 */
static const char *claim_default_name(struct nuc_graph *g, struct nuc_node *node)
{
    const char *name = nuc_node_op_name(node);
    char text[MAX_NAME], *out = text;

    if (strncmp(name, "edge.", 5) == 0)
        name += 5;
    assert(2 * strlen(name) < sizeof text);
    for (const char *p = name; *p != '\0'; p++) {
        bool capital = *p >= 'A' && *p <= 'Z';
        if (capital && p > name && p[-1] >= 'a' && p[-1] <= 'z')
            *out++ = '_';
        *out++ = (char)(*p == '.' ? '_' : capital ? *p - 'A' + 'a' : *p);
    }
    *out = '\0';
    return claim_name(g, node, text, false);
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

struct nuc_graph *nuc_graph_new(struct nuc_context *cx, const char *file)
{
    struct nuc_graph *g = nuc_alloc(cx, sizeof *g);

    g->cx = cx;
    g->file = nuc_strdup(cx, file);
    g->names = nuc_alloc(cx, sizeof *g->names);
    grow_names(cx, g->names, SHORT_TABLE);
    g->memory = nuc_enter_sub_arena(cx);
    nuc_leave_sub_arena(cx, g->memory);
    g->metas = nuc_meta_table_new(g);
    return g;
}

void nuc_graph_free(struct nuc_graph *g)
{
    nuc_free_sub_arena(g->names->memory);
    nuc_free_sub_arena(g->memory);
    *g = (struct nuc_graph){.cx = g->cx, .file = g->file};
}

void *nuc_graph_alloc(struct nuc_graph *g, size_t size)
{
    return nuc_alloc_in(g->cx, nuc_memory_of(g->memory), size);
}

/* A node and its arguments lie together, and by those that were made before and after it. */
static struct nuc_node *new_node(struct nuc_graph *g, const struct nuc_schema *schema)
{
    struct nuc_node *node = nuc_graph_alloc(g, sizeof *node + schema->n_args * sizeof *node->args);

    node->n_args = schema->n_args;
    node->args = (struct nuc_arg *)(node + 1);
    return node;
}

static const struct nuc_source unknown_source = {.file = NULL};

struct nuc_node *nuc_add_node(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const char *name)
{
    const struct nuc_schema *schema = nuc_op_schema(op);
    struct nuc_node *node = new_node(g, schema);

    node->id = g->next_id++;
    node->op = op;
    node->dialect = NUC_EDGE;
    if (nuc_op_in_dialect(op, NUC_ATEN) && (g->dialect == NUC_ATEN || !nuc_op_in_dialect(op, NUC_EDGE)))
        node->dialect = NUC_ATEN;
    node->name = name != NULL ? claim_name(g, node, name, g->names_last) : claim_default_name(g, node);
    node->partition = -1;
    node->source = &unknown_source;
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (schema->args[i].has_default)
            node->args[i] = schema->args[i].fallback;
    }
    link_before(g, node, before);
    g->n_nodes++;
    return node;
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

static struct nuc_node **more_users(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t capacity = node->users_capacity == 0 ? 1 : 4 * node->users_capacity;
    struct nuc_node **users =
        capacity == 1 ? &node->first_user : nuc_graph_alloc(g, capacity * sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < node->n_users; i++)
        users[i] = node->users[i];
    node->users_capacity = capacity;
    return users;
}

static void add_user(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *user)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i] == user)
            return;
    }
    if (node->n_users == node->users_capacity)
        node->users = more_users(g, node);
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
    release_name(g, node);
    unlink_node(g, node);
    g->n_nodes--;
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
        bool is_root = n->op == NUC_OP_OUTPUT || (nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT);
        if (!is_root && n->n_users == 0)
            nuc_remove_node(g, n);
    }
}

void nuc_rename(struct nuc_graph *g, struct nuc_node *node, const char *name)
{
    release_name(g, node);
    node->name = claim_name(g, node, name, false);
}

void nuc_rename_as_traced(struct nuc_graph *g)
{
    /* All names are given up first, so that numbering starts afresh. */
    nuc_free_sub_arena(g->names->memory);
    *g->names = (struct nuc_name_table){NULL, 0, 0, NULL};
    nuc_graph_reserve(g, g->n_nodes);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            n->name = claim_name(g, n, n->name, true);
    }
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_call(n))
            n->name = claim_default_name(g, n);
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

struct nuc_node *nuc_find_node(const struct nuc_graph *g, const char *name)
{
    return find_entry(g->names, name)->node;
}
