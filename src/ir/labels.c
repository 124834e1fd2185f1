#include "ir/labels.h"

#include <string.h>

#include "host/index.h"

/* ---- texts and what is known of them ---- */

struct entry {
    const char *text;
    uint32_t next_suffix;
    const char *owner; /* the call that has the label */
    /* Of a module: calls of operators in it, those that compute, and whether these are all of one operator. */
    uint32_t n_calls, n_computing;
    const char *operator_name;
    bool is_mixed, has_children;
    /* Of a value: the node that has its label without a form. */
    const struct nuc_node *main;
    int rank;
};

struct table {
    struct nuc_context *cx;
    struct entry *entries;
    size_t used, capacity;
    struct nuc_index index;
};

/* Texts stay. */
static void free_table(struct table *t)
{
    nuc_give_back(t->cx, t->entries, t->capacity * sizeof *t->entries);
    nuc_index_free(t->cx, &t->index);
}

/* The entry of the first `length` characters of a text; valid until the next one. */
static struct entry *entry_of(struct table *t, const char *text, size_t length)
{
    const uint32_t hash = nuc_index_characters(NUC_INDEX_NOTHING, text, length);

    for (struct nuc_index_search s = nuc_index_search(&t->index, hash); nuc_index_next(&s);) {
        struct entry *e = &t->entries[s.place];
        if (strncmp(e->text, text, length) == 0 && e->text[length] == '\0')
            return e;
    }
    nuc_index_add(t->cx, &t->index, hash, (uint32_t)t->used);
    t->entries = nuc_grow(t->cx, t->entries, &t->capacity, t->used + 1, sizeof *t->entries);
    t->entries[t->used] =
        (struct entry){.text = text[length] == '\0' ? text : nuc_format(t->cx, "%.*s", (int)length, text)};
    return &t->entries[t->used++];
}

/* ---- operators of a model as written ---- */

/* "aten.relu_.default", "edge.aten.view_copy.default", "_softmax": "relu", "view", "softmax". */
static const char *base_name(struct nuc_context *cx, const char *operator_name)
{
    const char *name = nuc_short_op_name(operator_name), *dot = strchr(name, '.');

    name = dot != NULL ? dot + 1 : name;
    size_t length = strcspn(name, ".");
    if (length > 5 && strncmp(name + length - 5, "_copy", 5) == 0)
        length -= 5;
    for (; length > 1 && name[0] == '_'; length--)
        name++;
    while (length > 1 && name[length - 1] == '_')
        length--;
    return nuc_format(cx, "%.*s", (int)length, name);
}

static const char *written_name(struct nuc_context *cx, const struct nuc_node *n)
{
    return base_name(cx, n->source->op != NULL ? n->source->op : nuc_node_op_name(n));
}

/* What a label is given to: quantization and items of tuples have that of the value. */
static bool is_labelled(const struct nuc_node *n)
{
    return nuc_is_operator(n) && nuc_op_family(n->op) != NUC_FAMILY_ASSERT;
}

/* A module that fills a tensor with zeros for what it computes still computes one value. */
static bool computes(const struct nuc_node *n)
{
    return nuc_op_kind(n->op) == NUC_KIND_COMPUTE && nuc_op_family(n->op) != NUC_FAMILY_FILL;
}

/* The text, or that with the first suffix that no other call has. */
static const char *claim(struct table *t, const char *text, const char *owner)
{
    struct entry *e = entry_of(t, text, strlen(text));

    while (e->owner != NULL && strcmp(e->owner, owner) != 0) {
        struct entry *first = entry_of(t, text, strlen(text));
        const char *numbered = nuc_format(t->cx, "%s_%u", text, ++first->next_suffix);
        e = entry_of(t, numbered, strlen(numbered));
    }
    if (e->owner == NULL)
        e->owner = owner;
    return e->text;
}

static bool stands_for_module(const struct entry *module, const struct nuc_node *n)
{
    if (*module->text == '\0' || module->has_children || module->is_mixed)
        return false;
    return module->n_computing > 0 ? computes(n) : module->n_calls == 1;
}

static const char *source_label(struct table *modules, const struct nuc_node *n)
{
    const char *path = n->source->module;

    if (path == NULL)
        return n->source->call != NULL ? n->source->call : n->name;
    if (stands_for_module(entry_of(modules, path, strlen(path)), n))
        return path;
    return nuc_format(modules->cx, "%s%s%s", path, *path == '\0' ? "" : "/", written_name(modules->cx, n));
}

static const char *call_of(const struct nuc_node *n)
{
    const char *call = nuc_first_call(n);

    return call != NULL ? call : n->name;
}

void nuc_set_label(struct nuc_graph *g, struct nuc_node *node, const char *label)
{
    struct nuc_source *source = nuc_copy(g->cx, node->source, sizeof *source);

    source->label = label;
    node->source = source;
}

void nuc_set_form(struct nuc_graph *g, struct nuc_node *node, const char *form)
{
    struct nuc_source *source = nuc_copy(g->cx, node->source, sizeof *source);

    source->form = form;
    node->source = source;
}

/* Nodes of one operator follow each other and stay with one source. */
struct sharing {
    const struct nuc_source *before, *after;
};

static void label_node(struct nuc_graph *g, struct nuc_node *n, const char *label, struct sharing *last)
{
    const struct nuc_source *before = n->source;

    if (before->label != NULL && strcmp(before->label, label) == 0)
        return;
    if (before == last->before && strcmp(last->after->label, label) == 0)
        n->source = last->after;
    else
        nuc_set_label(g, n, label);
    *last = (struct sharing){before, n->source};
}

void nuc_label_sources(struct nuc_graph *g)
{
    struct table modules = {.cx = g->cx}, labels = {.cx = g->cx};
    struct sharing last = {NULL, NULL};

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_static(n)) {
            nuc_set_label(g, n, n->target);
        } else if (nuc_is_placeholder(n)) {
            nuc_set_label(g, n, claim(&labels, n->name, nuc_format(g->cx, "input %s", n->name)));
        } else if (is_labelled(n) && n->source->label != NULL)
            label_node(g, n, claim(&labels, n->source->label, call_of(n)), &last);
        else if (is_labelled(n) && n->source->module != NULL) {
            const char *path = n->source->module, *name = written_name(modules.cx, n);
            /* Every module that has another one inside says so. */
            for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.'))
                entry_of(&modules, path, (size_t)(dot - path))->has_children = true;
            struct entry *e = entry_of(&modules, path, strlen(path));
            e->n_calls++;
            if (!computes(n))
                continue;
            e->n_computing++;
            e->is_mixed = e->is_mixed || (e->operator_name != NULL && strcmp(e->operator_name, name) != 0);
            e->operator_name = name;
        }
    }
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (is_labelled(n) && n->source->label == NULL)
            label_node(g, n, claim(&labels, source_label(&modules, n), call_of(n)), &last);
    }
    free_table(&modules);
    free_table(&labels);
}

/* ---- nodes of a graph at any stage ---- */

/* The first input that is no parameter or constant. */
static const struct nuc_node *carried(const struct nuc_node *n)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *first = NULL;

    for (const struct nuc_node *input = nuc_next_input(n, &at); input != NULL; input = nuc_next_input(n, &at)) {
        if (!nuc_is_static(input))
            return input;
        first = first != NULL ? first : input;
    }
    return first;
}

/* The call of a delegate has the label that it was given; its items have those of the values that come out. */
static const char *value_label(const struct nuc_node *n, const char *const *value)
{
    const struct nuc_node *input = NULL;

    if (n->op == NUC_OP_ALLOC && n->n_users > 0)
        return nuc_own_label(n->users[0]);
    if (nuc_is_call(n) && (nuc_is_quantization(n) || (n->source->label == NULL && !computes(n))))
        input = carried(n);
    return input != NULL ? value[input->id] : nuc_own_label(n);
}

static bool is_item_of_operator(const struct nuc_node *n)
{
    return n->op == NUC_OP_GETITEM && n->args[NUC_SELF].u.node->op != NUC_OP_CALL_DELEGATE;
}

/* Of the nodes with one label the last one of the highest rank is what people mean by it. */
static int rank_of(const struct nuc_node *n)
{
    if (!nuc_is_call(n)) /* a constant that a pass made for an operator has the operator's label */
        return nuc_is_static(n) && n->source->label != n->target ? 0 : 5;
    if (nuc_is_quantization(n) || is_item_of_operator(n) || n->op == NUC_OP_ALLOC)
        return 0;
    if (n->source->label == NULL)
        return 1;
    if (computes(n))
        return 4;
    return nuc_is_operator(n) ? 2 : 3;
}

/* What tells a node from others of its value; NULL: nothing has to. */
static const char *form_of(struct nuc_context *cx, const struct nuc_node *n, const struct entry *value)
{
    const struct nuc_meta *m = n->n_vals > 0 ? &n->vals[0] : NULL;

    if (n->source->form != NULL)
        return n->source->form;
    if (n->op == NUC_OP_ALLOC)
        return "scratch";
    if (m != NULL && (nuc_is_quantization(n) || (n != value->main && nuc_op_family(n->op) == NUC_FAMILY_CAST)))
        return nuc_dtype_name(m->dtype);
    if (n == value->main || !nuc_is_operator(n))
        return NULL;
    if (m != NULL && nuc_op_family(n->op) == NUC_FAMILY_COPY)
        return nuc_is_channels_last(m) ? "channels-last" : "contiguous";
    return base_name(cx, nuc_node_op_name(n));
}

/* Numbers where two nodes would have one label. */
static const char *unique(struct table *labels, const char *value, const char *form)
{
    const char *wanted = form != NULL ? nuc_format(labels->cx, "%s (%s)", value, form) : value;
    struct entry *e = entry_of(labels, wanted, strlen(wanted));

    while (e->owner != NULL) {
        uint32_t number = ++entry_of(labels, wanted, strlen(wanted))->next_suffix + 1;
        const char *numbered = form != NULL ? nuc_format(labels->cx, "%s (%s, %u)", value, form, number)
                                            : nuc_format(labels->cx, "%s (%u)", value, number);
        e = entry_of(labels, numbered, strlen(numbered));
    }
    e->owner = e->text;
    return e->text;
}

static const char *label_of(struct table *labels, const struct nuc_node *n, const char *value,
                            const struct entry *entry)
{
    if (is_item_of_operator(n))
        return unique(labels,
                      nuc_format(labels->cx, "%s[%lld]", value, (long long)n->args[NUC_ARG(GETITEM, index)].u.i),
                      n->source->form);
    return unique(labels, value, form_of(labels->cx, n, entry));
}

struct nuc_labels nuc_label_graph(const struct nuc_graph *g)
{
    struct table values = {.cx = g->cx}, labels = {.cx = g->cx};
    const char **of = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *of);
    const char **value = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *value);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const char *text = value_label(n, value);
        struct entry *e = entry_of(&values, text, strlen(text));
        value[n->id] = e->text;
        int rank = rank_of(n);
        if (e->main == NULL || rank >= e->rank) {
            e->main = n;
            e->rank = rank;
        }
    }
    for (int plain = 1; plain >= 0; plain--) {
        for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
            const struct entry *e = entry_of(&values, value[n->id], strlen(value[n->id]));
            if ((n == e->main) == plain)
                of[n->id] = label_of(&labels, n, value[n->id], e);
        }
    }
    free_table(&values);
    free_table(&labels);
    return (struct nuc_labels){of, value};
}

const char *nuc_label_of_result(struct nuc_context *cx, const struct nuc_labels *labels, const struct nuc_node *node,
                                uint32_t index)
{
    bool several = index > 0;

    if (!node->is_tuple)
        return labels->of[node->id];
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        int64_t read = user->op == NUC_OP_GETITEM ? user->args[NUC_ARG(GETITEM, index)].u.i : -1;
        if (read == index && !is_item_of_operator(user))
            return labels->of[user->id];
        several = several || read > 0;
    }
    return several ? nuc_format(cx, "%s[%u]", labels->of[node->id], index) : labels->of[node->id];
}
