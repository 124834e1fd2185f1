/* Names of nodes. */
#include "ir/names.h"

#include <assert.h>
#include <string.h>

#include "host/index.h"

struct entry {
    const char *name;
    struct nuc_node *node; /* NULL: the node of that name is removed */
    uint32_t next_suffix;  /* next number to try when the name is asked for again */
    uint32_t hash;         /* of the name: tables grow without reading it */
};

/* Entries lie in the order in which names came, which is nearly that of the nodes. They do not become fewer. */
struct nuc_name_table {
    struct entry *entries;
    uint32_t used, capacity;
    struct nuc_index index;
    struct nuc_sub_arena *memory; /* of a long table, which goes when the table grows; NULL: the arena it is made in */
    struct nuc_sub_arena *texts;  /* of the names that nodes were last given as traced, which go when they get others */
};

#define SHORT_TABLE 64u /* entries */
#define LONG_TABLE 4096u
#define NONE UINT32_MAX

static uint32_t find(const struct nuc_name_table *t, const char *name, uint32_t hash)
{
    assert(t->capacity != 0);
    for (struct nuc_index_search s = nuc_index_search(&t->index, hash); nuc_index_next(&s);) {
        if (t->entries[s.place].name == name || strcmp(t->entries[s.place].name, name) == 0)
            return s.place;
    }
    return NONE;
}

static void add(struct nuc_context *cx, struct nuc_name_table *t, struct entry entry)
{
    nuc_index_add(cx, &t->index, entry.hash, t->used);
    t->entries[t->used++] = entry;
}

static void grow(struct nuc_context *cx, struct nuc_name_table *t, uint32_t capacity)
{
    struct nuc_name_table larger = {.capacity = capacity, .texts = t->texts};

    if (capacity >= LONG_TABLE)
        larger.memory = nuc_enter_sub_arena(cx);
    larger.entries = nuc_alloc_array(cx, capacity, sizeof *larger.entries);
    nuc_index_reserve(cx, &larger.index, capacity);
    if (larger.memory != NULL)
        nuc_leave_sub_arena(cx, larger.memory);
    for (uint32_t i = 0; i < t->used; i++)
        add(cx, &larger, t->entries[i]);
    nuc_free_sub_arena(t->memory);
    *t = larger;
}

struct nuc_name_table *nuc_names_new(struct nuc_context *cx)
{
    struct nuc_name_table *t = nuc_alloc(cx, sizeof *t);

    grow(cx, t, SHORT_TABLE);
    return t;
}

/* Room for as many names. */
static void reserve(struct nuc_graph *g, size_t count)
{
    uint32_t capacity = g->names->capacity;

    while (capacity < count && capacity <= UINT32_MAX / 2)
        capacity *= 2;
    if (capacity > g->names->capacity)
        grow(g->cx, g->names, capacity);
}

/* The names that nodes have, without reading them; NULL: for the same nodes. */
static void take_names(struct nuc_graph *to, const struct nuc_name_table *from, struct nuc_node *const *copies)
{
    for (uint32_t i = 0; i < from->used; i++) {
        const struct entry *e = &from->entries[i];
        if (e->node == NULL)
            continue;
        struct nuc_node *node = copies == NULL ? e->node : copies[e->node->id];
        add(to->cx, to->names, (struct entry){.name = e->name, .node = node, .hash = e->hash});
    }
}

void nuc_names_copy(struct nuc_graph *to, const struct nuc_graph *from, struct nuc_node *const *copies)
{
    reserve(to, from->n_nodes);
    if (from->names->capacity != 0)
        take_names(to, from->names, copies);
    for (const struct nuc_node *n = from->first; from->names->capacity == 0 && n != NULL; n = n->next)
        add(to->cx, to->names, (struct entry){.name = n->name, .node = copies[n->id], .hash = nuc_index_text(n->name)});
}

void nuc_names_follow(struct nuc_graph *g, struct nuc_node *const *copies)
{
    for (struct entry *e = g->names->entries; e < g->names->entries + g->names->used; e++)
        e->node = e->node == NULL ? NULL : copies[e->node->id];
}

static uint32_t enter(struct nuc_graph *g, const char *name, uint32_t hash, bool lasts)
{
    struct nuc_name_table *t = g->names;
    uint32_t place = find(t, name, hash);

    if (place != NONE)
        return place;
    reserve(g, (size_t)t->used + 1);
    add(g->cx, t, (struct entry){.name = lasts ? name : nuc_strdup(g->cx, name), .hash = hash});
    return t->used - 1;
}

/* "wanted_7". */
static const char *with_suffix(struct nuc_graph *g, const char *wanted, const char *suffix)
{
    size_t length = strlen(wanted), rest = strlen(suffix) + 1;
    char *name = nuc_alloc(g->cx, length + rest);

    memcpy(name, wanted, length);
    memcpy(name + length, suffix, rest);
    return name;
}

#define MAX_SUFFIX 12 /* "_4294967295" */

/* The name at `base`, or that with a suffix. */
static const char *claim_at(struct nuc_graph *g, struct nuc_node *node, uint32_t base)
{
    struct nuc_name_table *t = g->names;
    const uint32_t before = t->used;
    uint32_t own = base;

    while (t->entries[own].node != NULL) {
        char text[MAX_SUFFIX];
        uint32_t number = ++t->entries[base].next_suffix;
        char *p = text + MAX_SUFFIX - 1;
        *p = '\0';
        for (; number != 0; number /= 10)
            *--p = (char)('0' + number % 10);
        *--p = '_';
        const char *suffix = p;
        uint32_t hash = nuc_index_characters(t->entries[base].hash, suffix, strlen(suffix));
        own = enter(g, with_suffix(g, t->entries[base].name, suffix), hash, true);
    }
    /* That of a removed node goes with the others. */
    if (t->texts != NULL && own < before)
        t->entries[own].name = nuc_strdup(g->cx, t->entries[own].name);
    t->entries[own].node = node;
    return t->entries[own].name;
}

static const char *claim(struct nuc_graph *g, struct nuc_node *node, const char *wanted)
{
    return claim_at(g, node, enter(g, wanted, nuc_index_text(wanted), false));
}

#define MAX_NAME 256 /* of an operator, with a '_' for each character */

/*
 * "edge.aten.add.Tensor" -> "aten_add_tensor"; "quantized_decomposed.x.default" keeps its namespace. As in torch.fx a
 * capital after a small letter starts a word: "dim_IntList" -> "dim_int_list".
 */
static uint32_t enter_default(struct nuc_graph *g, const char *name)
{
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
    return enter(g, text, nuc_index_text(text), false);
}

const char *nuc_claim_name(struct nuc_graph *g, struct nuc_node *node, const char *wanted)
{
    return wanted != NULL ? claim(g, node, wanted) : claim_at(g, node, enter_default(g, nuc_node_op_name(node)));
}

static uint32_t place_of(const struct nuc_graph *g, const char *name)
{
    return find(g->names, name, nuc_index_text(name));
}

void nuc_release_name(struct nuc_graph *g, const struct nuc_node *node)
{
    uint32_t place = place_of(g, node->name);

    if (place != NONE && g->names->entries[place].node == node)
        g->names->entries[place].node = NULL;
}

struct nuc_node *nuc_find_node(const struct nuc_graph *g, const char *name)
{
    uint32_t place = place_of(g, name);

    return place == NONE ? NULL : g->names->entries[place].node;
}

const struct nuc_node *nuc_find_misnamed(const struct nuc_graph *g, struct nuc_node *const *seen)
{
    const struct nuc_name_table *t = g->names;
    uint32_t count = 0;

    for (uint32_t i = 0; i < t->used; i++) {
        const struct nuc_node *node = t->entries[i].node;
        if (node == NULL)
            continue;
        if (node->name != t->entries[i].name || node->id >= g->next_id || seen[node->id] != node)
            return node;
        count++;
    }
    return count == g->n_nodes ? NULL : g->first;
}

/* All names are given up, so that numbering starts afresh. What they were is the caller's to free. */
static struct nuc_name_table forget_names(struct nuc_graph *g)
{
    struct nuc_name_table before = *g->names;

    *g->names = (struct nuc_name_table){.capacity = SHORT_TABLE / 2, .texts = before.texts};
    reserve(g, g->n_nodes + SHORT_TABLE);
    return before;
}

void nuc_rename(struct nuc_graph *g, struct nuc_node *node, const char *name)
{
    nuc_release_name(g, node);
    node->name = claim(g, node, name);
}

void nuc_renumber(struct nuc_graph *g)
{
    struct nuc_name_table before = forget_names(g);

    take_names(g, &before, NULL);
    nuc_free_sub_arena(before.memory);
    g->next_id = 0;
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        n->id = g->next_id++;
}

void nuc_names_let_go(struct nuc_graph *g)
{
    nuc_free_sub_arena(g->names->memory);
    *g->names = (struct nuc_name_table){.texts = g->names->texts};
}

void nuc_rename_as_traced(struct nuc_graph *g)
{
    struct nuc_name_table before = forget_names(g);

    nuc_free_sub_arena(before.memory);
    g->names->texts = NULL;
    struct nuc_sub_arena *texts = nuc_enter_sub_arena(g->cx);
    for (struct nuc_node *n = g->first; n != g->body; n = n->next)
        n->name = claim(g, n, n->name);
    if (g->body != NULL)
        g->last->name = claim(g, g->last, g->last->name); /* the output */
    /* Most nodes are of few operators: each is looked up once. */
    struct {
        const char *name;
        uint32_t place;
    } known[NUC_OP_COUNT] = {{NULL, 0}};
    for (struct nuc_node *n = g->body; n != NULL && n != g->last; n = n->next) {
        const char *name = nuc_node_op_name(n);
        if (known[n->op].name != name) {
            known[n->op].name = name;
            known[n->op].place = enter_default(g, name);
        }
        n->name = claim_at(g, n, known[n->op].place);
    }
    nuc_leave_sub_arena(g->cx, texts);
    nuc_free_sub_arena(before.texts);
    g->names->texts = texts;
}
