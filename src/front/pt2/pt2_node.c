/* The calls of operators in a .pt2 archive, and their results. */
#include <string.h>

#include "front/pt2/importer.h"
#include "ir/args.h"

/* ---- results ---- */

/* A size is that of what a mask chooses: rewrite/expand/masked.c sees to it. */
static bool is_chosen(const struct nuc_importer *im, const struct nuc_json *name)
{
    struct nuc_json meta = nuc_json_maybe_member(&im->scope->tensor_values, nuc_json_string(name));
    struct nuc_json sizes = nuc_json_maybe_member(&meta, "sizes");

    for (size_t k = 0; sizes.type == NUC_JSON_ARRAY && k < nuc_json_maybe_count(&sizes); k++) {
        struct nuc_json size = nuc_json_maybe_item(&sizes, k), open = nuc_json_maybe_member(&size, "as_expr");
        struct nuc_json written = nuc_json_maybe_member(&open, "expr_str");
        const char *text = nuc_json_maybe_text(&written);
        if (text != NULL && strstr(text, "Symbol('u") != NULL)
            return true;
    }
    return false;
}

/*
 * What the operator's shape rule computed must be what the archive states. In which order torch keeps the elements
 * changes no result.
 */
static void check_value(const struct nuc_importer *im, const struct nuc_node *node, const struct nuc_meta *computed,
                        const struct nuc_json *name)
{
    if (is_chosen(im, name))
        return;
    struct nuc_tensor_meta stated = nuc_value_meta(im, nuc_json_string(name), name);
    if (computed->dtype != stated.meta.dtype || !nuc_same_sizes(computed, &stated.meta))
        nuc_json_fail(name, NUC_BAD_INPUT, "%s: the archive states %s, the operator makes %s",
                      nuc_node_text(im->cx, node), nuc_meta_text(im->cx, &stated.meta),
                      nuc_meta_text(im->cx, computed));
}

/* Of two parts of one value the real one has the archive's name; no archive's name is that of the other. */
static const char *new_name(const struct nuc_importer *im, const struct nuc_json *name)
{
    return im->part != NUC_PART_IMAGINARY ? nuc_unused_name(im, name)
                                          : nuc_format(im->cx, "%s_imag", nuc_json_string(name));
}

static void add_item(struct nuc_importer *im, struct nuc_node *tuple, uint32_t index, const struct nuc_json *tensor)
{
    struct nuc_json name = nuc_json_field(tensor, "name");
    const char *text = new_name(im, &name);
    struct nuc_node *item = nuc_add_node(im->g, NULL, NUC_OP_GETITEM, text);

    nuc_name_value(im, text, item);
    nuc_set_args(im->g, item, NUC_ARGS(tuple, index));
    nuc_made_of(item, tuple);
    nuc_infer_shape(im->g, item);
    check_value(im, item, &item->vals[0], &name);
}

/*
 * The results as the archive writes them: one tensor {"as_tensor": ...}, several of these, or one list of tensors
 * {"as_tensors": [...]}. The struct holds the way to them, so it must stay where it is.
 */
struct results {
    struct nuc_json outputs, item, value;
    bool is_tuple;
    bool is_list;
};

static void read_results(const struct nuc_json *node, struct results *r)
{
    r->outputs = nuc_json_field(node, "outputs");
    r->is_list = false;
    r->is_tuple = nuc_json_count(&r->outputs) != 1;
    if (r->is_tuple)
        return;
    r->item = nuc_json_item(&r->outputs, 0);
    r->value = nuc_json_union(&r->item);
    r->is_list = r->is_tuple = strcmp(r->value.key, "as_tensors") == 0;
    if (!r->is_list && strcmp(r->value.key, "as_tensor") != 0)
        nuc_json_fail(&r->value, NUC_UNSUPPORTED, "the result is not a tensor");
}

/* A batch norm without running statistics: those of its input are all it can take, in inference too. */
static bool has_no_running_statistics(const struct nuc_node *node)
{
    uint32_t mean = nuc_arg_named(node, "running_mean");

    return node->op == NUC_OP_BATCH_NORM_NO_STATS || (mean != NUC_NO_ARG && nuc_arg_node(node, mean) == NULL);
}

/* What the archive states for the results of a composite operator. One that it does not name is never read. */
static void take_stated(struct nuc_importer *im, struct nuc_node *node, const struct results *r)
{
    const struct nuc_json *list = r->is_list ? &r->value : &r->outputs;
    size_t count = r->is_tuple ? nuc_json_count(list) : 1;
    struct nuc_meta *metas = nuc_alloc_array(im->cx, count, sizeof *metas);

    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = r->is_tuple ? nuc_json_item(list, i) : r->value;
        struct nuc_json value = r->is_tuple && !r->is_list ? nuc_json_union(&item) : item;
        metas[i] = nuc_meta_make(NUC_F32, NULL, 0);
        if (value.key != NULL && strcmp(value.key, "as_none") == 0)
            continue;
        struct nuc_json name = nuc_json_field(&value, "name");
        metas[i] = nuc_value_meta(im, nuc_json_string(&name), &name).meta;
    }
    if (r->is_tuple)
        nuc_set_tuple(im->g, node, metas, (uint32_t)count);
    else
        nuc_set_val(im->g, node, &metas[0]);
}

struct nuc_node *nuc_start_call(struct nuc_importer *im, struct nuc_op_form form, const char *text,
                                const struct nuc_json *json)
{
    struct nuc_json metadata = nuc_json_optional(json, "metadata");
    struct nuc_node *node = nuc_add_node(im->g, NULL, form.op, text);
    const char *op = nuc_pt2_op_name(json);

    if (text != NULL)
        nuc_name_value(im, text, node);
    node->in_place = form.in_place;
    struct nuc_source *source = nuc_read_source(im->cx, &metadata, node->prev != NULL ? node->prev->source : NULL);
    source->op = strcmp(op, nuc_node_op_name(node)) == 0 ? nuc_node_op_name(node) : nuc_strdup(im->cx, op);
    source->call = node->name;
    node->source = source;
    nuc_read_args(im, node, json);
    /* A program only infers: no operator whose argument says that it trains. */
    if ((nuc_flag(node, nuc_arg_named(node, "training")) || nuc_flag(node, nuc_arg_named(node, "train"))) &&
        !has_no_running_statistics(node))
        nuc_json_fail(json, NUC_UNSUPPORTED, "%s is in training mode: call model.eval() before exporting",
                      nuc_node_text(im->cx, node));
    return node;
}

struct nuc_node *nuc_add_call(struct nuc_importer *im, struct nuc_op_form form, const struct nuc_json *json)
{
    struct nuc_json name;
    struct results results;

    read_results(json, &results);
    if (results.is_tuple)
        name = nuc_json_optional(json, "name");
    else
        name = nuc_json_field(&results.value, "name");
    struct nuc_node *node = nuc_start_call(im, form, nuc_json_is_there(&name) ? new_name(im, &name) : NULL, json);
    if (nuc_op_family(node->op) == NUC_FAMILY_COMPOSITE)
        take_stated(im, node, &results);
    /* arange(3.) holds floats, whose numbers are no longer told from whole ones. */
    if (node->op == NUC_OP_ARANGE && nuc_arg_at(node, NUC_ARG(ARANGE, dtype))->kind == NUC_ARG_NONE)
        nuc_set_arg_dtype(node, NUC_ARG(ARANGE, dtype), nuc_value_meta(im, nuc_json_string(&name), &name).meta.dtype);
    nuc_infer_shape(im->g, node);
    if (node->is_tuple != results.is_tuple)
        nuc_json_fail(&results.outputs, NUC_BAD_INPUT, "%s: these are not the results of the operator",
                      nuc_node_text(im->cx, node));
    if (results.is_tuple) {
        /*
         * A tuple's items are getitem nodes with the names the archive gives them; as_none marks one that is not used.
         */
        const struct nuc_json *list = results.is_list ? &results.value : &results.outputs;
        size_t count = nuc_json_count(list);
        if (count != node->n_vals)
            nuc_json_fail(list, NUC_BAD_INPUT, "%s: %zu results are named, the operator makes %u",
                          nuc_node_text(im->cx, node), count, (unsigned)node->n_vals);
        for (size_t i = 0; i < count; i++) {
            struct nuc_json item = nuc_json_item(list, i);
            struct nuc_json value = results.is_list ? item : nuc_json_union(&item);
            if (results.is_list || strcmp(value.key, "as_tensor") == 0)
                add_item(im, node, (uint32_t)i, &value);
            else if (strcmp(value.key, "as_none") != 0)
                nuc_json_fail(&value, NUC_UNSUPPORTED, "%s: a result is not a tensor", nuc_node_text(im->cx, node));
        }
    } else {
        check_value(im, node, &node->vals[0], &name);
    }
    return node;
}

void nuc_add_identity(struct nuc_importer *im, struct nuc_node *node)
{
    im->identities =
        nuc_grow(im->cx, im->identities, &im->identities_capacity, im->n_identities + 1, sizeof(struct nuc_node *));
    im->identities[im->n_identities++] = node;
}

/* A copy may be written to: the stage `expand` knows. */
void nuc_remove_identities(struct nuc_importer *im)
{
    bool in_place = nuc_has_in_place(im->g);

    for (size_t i = 0; i < im->n_identities; i++) {
        struct nuc_node *node = im->identities[i];
        if (in_place && node->op == NUC_OP_CLONE)
            continue;
        nuc_replace_uses(im->g, node, nuc_arg_node(node, NUC_SELF), NULL);
        nuc_remove_node(im->g, node);
    }
}
