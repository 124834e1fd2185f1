/* Nodes that cannot be imported, where obstacles are collected: what they make becomes inputs of the model. */
#include <string.h>

#include "front/pt2/importer.h"
#include "ir/obstacles.h"

struct named_input {
    struct nuc_importer *im;
    const struct nuc_json *name;
};

/* Of a type that no value here has, or complex: then its readers are left out with it. */
static void add_input(struct nuc_context *cx, void *arg)
{
    const struct named_input *in = arg;
    const char *text = nuc_unused_name(in->im, in->name);
    struct nuc_tensor_meta t = nuc_value_meta(in->im, text, in->name);

    if (t.is_complex)
        nuc_fail(cx, NUC_UNSUPPORTED, "is complex");
    nuc_name_value(in->im, text, nuc_add_placeholder(in->im->g, text, NUC_USER_INPUT, &t.meta));
}

static void add_result(struct nuc_importer *im, const struct nuc_json *tensor)
{
    struct nuc_json name = nuc_json_field(tensor, "name");

    nuc_name_value(im, nuc_json_string(&name), NULL);
    nuc_attempt(im->cx, add_input, &(struct named_input){im, &name});
}

static void add_read(struct nuc_importer *im, const struct nuc_json *tensor)
{
    struct nuc_json name = nuc_json_field(tensor, "name");
    struct nuc_node *node = nuc_find_value(im, nuc_json_string(&name));

    if (node == NULL || node->is_tuple || nuc_is_placeholder(node))
        return;
    im->cut_reads =
        nuc_grow(im->cx, im->cut_reads, &im->cut_reads_capacity, im->n_cut_reads + 1, sizeof(struct nuc_node *));
    im->cut_reads[im->n_cut_reads++] = node;
}

/* The tensors of an input or output of a node: one, or those of a list. */
static void each_tensor(struct nuc_importer *im, const struct nuc_json *item,
                        void (*take)(struct nuc_importer *im, const struct nuc_json *tensor))
{
    struct nuc_json value = nuc_json_union(item);
    bool is_list = strcmp(value.key, "as_tensors") == 0;

    for (size_t k = 0, n = is_list ? nuc_json_count(&value) : strcmp(value.key, "as_tensor") == 0; k < n; k++) {
        struct nuc_json tensor = is_list ? nuc_json_item(&value, k) : value;
        take(im, &tensor);
    }
}

size_t nuc_outputs_in_part(const struct nuc_importer *im, struct nuc_node **values, size_t count)
{
    struct nuc_node *input = im->g->first;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!nuc_is_placeholder(values[i]))
            values[kept++] = values[i];
    }
    for (size_t i = 0; i < im->n_cut_reads; i++) {
        size_t at = 0;
        while (at < kept && values[at] != im->cut_reads[i])
            at++;
        if (at == kept)
            values[kept++] = im->cut_reads[i];
    }
    while (kept == 0 && input != NULL && !nuc_is_user_input(input))
        input = input->next;
    if (kept == 0 && input != NULL)
        values[kept++] = input;
    return kept;
}

struct importing {
    struct nuc_importer *im;
    const struct nuc_json *node;
    void (*import)(struct nuc_importer *im, const struct nuc_json *node);
};

static void import(struct nuc_context *cx, void *arg)
{
    const struct importing *i = arg;

    (void)cx;
    i->import(i->im, i->node);
}

void nuc_import_or_cut(struct nuc_importer *im, const struct nuc_json *node,
                       void (*take)(struct nuc_importer *im, const struct nuc_json *node))
{
    struct nuc_scope *scope = im->scope;
    struct nuc_node *last = im->g->last;
    const size_t n_identities = im->n_identities, n_cut_reads = im->n_cut_reads;

    im->misses_value = false;
    if (nuc_attempt(im->cx, import, &(struct importing){im, node, take}) == NUC_OK)
        return;
    im->scope = scope;
    im->part = NUC_PART_NONE;
    im->n_identities = n_identities;
    im->n_cut_reads = n_cut_reads; /* of operators in a region that is left out as a whole */
    while (im->g->last != last)
        nuc_remove_node(im->g, im->g->last);
    struct nuc_json named = nuc_json_optional(node, "name");
    const char *name = nuc_json_is_there(&named) ? nuc_json_string(&named) : NULL;
    /* Else it reads what was left out. */
    if (!im->misses_value || !im->is_cut) {
        struct nuc_json metadata = nuc_json_optional(node, "metadata");
        const char *text = nuc_strdup(im->cx, im->cx->message);
        const struct nuc_source *source = nuc_read_source(im->cx, &metadata, NULL);
        nuc_add_obstacle(im->cx, im->zip->path,
                         &(struct nuc_obstacle){.op = nuc_pt2_op_name(node),
                                                .node = name,
                                                .file = source->file,
                                                .module = source->module,
                                                .line = source->line,
                                                .text = text});
    }
    struct nuc_json inputs = nuc_json_field(node, "inputs"), outputs = nuc_json_field(node, "outputs");
    if (name != NULL) /* a tuple's, or one that an archive says wrongly */
        nuc_name_value(im, name, NULL);
    for (size_t i = 0, count = nuc_json_count(&outputs); i < count; i++) {
        struct nuc_json item = nuc_json_item(&outputs, i);
        each_tensor(im, &item, add_result);
    }
    for (size_t i = 0, count = nuc_json_count(&inputs); i < count; i++) {
        struct nuc_json input = nuc_json_item(&inputs, i);
        struct nuc_json arg = nuc_json_field(&input, "arg");
        each_tensor(im, &arg, add_read);
    }
    im->is_cut = true;
}

void nuc_remove_unread_inputs(struct nuc_importer *im, size_t n_inputs)
{
    size_t i = 0;

    for (struct nuc_node *n = im->g->first, *next; n != NULL && nuc_is_placeholder(n); n = next) {
        next = n->next;
        if (nuc_is_user_input(n) && i++ >= n_inputs && n->n_users == 0)
            nuc_remove_node(im->g, n);
    }
}
