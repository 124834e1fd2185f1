/*
 * Complex numbers of a .pt2 archive: every complex value is two, its real and its imaginary part, so that nothing after
 * the importer knows them. What moves or adds values is imported twice, once for each part; what computes with both has
 * an operator of its own, whose name ends in ".complex" (ir/complex_ops.def).
 */
#include <string.h>

#include "front/pt2/importer.h"
#include "ir/args.h"
#include "ir/op_list.h"

static struct nuc_node *add_select(struct nuc_importer *im, struct nuc_node *pair, int64_t part)
{
    struct nuc_node *node = nuc_add_node(im->g, NULL, NUC_OP_SELECT, nuc_format(im->cx, "%s_part", pair->name));
    struct nuc_meta meta = pair->vals[0];

    meta.rank--;
    nuc_set_args(im->g, node, NUC_ARGS(pair, -1, part));
    meta = nuc_meta_make(meta.dtype, meta.sizes, meta.rank);
    nuc_set_val(im->g, node, &meta);
    nuc_made_of(node, pair);
    return node;
}

/* Both parts of such a value behind each other, as torch.view_as_real() has them; one dimension has to be left. */
static struct nuc_meta of_pairs(struct nuc_meta part)
{
    part.sizes[part.rank] = 2;
    return nuc_meta_make(part.dtype, part.sizes, part.rank + 1u);
}

/* Nodes come after all inputs. */
void nuc_split_inputs(struct nuc_importer *im)
{
    for (struct nuc_node *n = im->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (!nuc_is_user_input(n) || !nuc_has_parts(im, n))
            continue;
        struct nuc_meta meta = n->vals[0];
        if (meta.rank == NUC_MAX_RANK)
            nuc_fail(im->cx, NUC_UNSUPPORTED, "%s: input '%s' is complex and has %d dimensions: one less is the limit",
                     im->zip->path, n->name, NUC_MAX_RANK);
        meta = of_pairs(meta);
        nuc_set_val(im->g, n, &meta);
        nuc_warn(im->cx, "%s: input '%s' is complex: the program takes it as torch.view_as_real() has it, %s",
                 im->zip->path, n->name, nuc_meta_text(im->cx, &meta));
        struct nuc_node *real = add_select(im, n, 0);
        struct nuc_node *imaginary = add_select(im, n, 1);
        nuc_set_parts(im, n, real, imaginary);
    }
}

static struct nuc_node *add_pair(struct nuc_importer *im, const char *name, struct nuc_node *const *parts)
{
    struct nuc_node *pair = nuc_add_node(im->g, NULL, NUC_OP_STACK, name);
    struct nuc_meta meta = parts[0]->vals[0];

    nuc_set_arg_nodes(pair, im->g, NUC_ARG(STACK, tensors), parts, 2);
    nuc_set_arg_int(pair, NUC_ARG(STACK, dim), -1);
    if (meta.rank == NUC_MAX_RANK)
        nuc_fail(im->cx, NUC_UNSUPPORTED, "%s: '%s' has %d dimensions and a pair's: one less is the limit",
                 im->zip->path, pair->name, NUC_MAX_RANK);
    meta = of_pairs(meta);
    nuc_set_val(im->g, pair, &meta);
    nuc_made_of(pair, parts[0]);
    return pair;
}

struct nuc_node *nuc_output_value(struct nuc_importer *im, const struct nuc_json *name)
{
    struct nuc_node *parts[2];

    im->part = NUC_PART_REAL;
    parts[0] = nuc_named_value(im, name);
    im->part = NUC_PART_IMAGINARY;
    const bool is_complex = nuc_names_complex(im, name->parent);
    parts[1] = is_complex ? nuc_named_value(im, name) : NULL;
    im->part = NUC_PART_NONE;
    if (!is_complex)
        return parts[0];
    nuc_warn(im->cx, "%s: output '%s' is complex: the program gives it as torch.view_as_real() does", im->zip->path,
             nuc_json_string(name));
    return add_pair(im, nuc_format(im->cx, "%s_pairs", nuc_json_string(name)), parts);
}

/* ---- operators ---- */

static const bool moves[NUC_OP_COUNT] = {
#define OP(enumerator, ...) [NUC_OP_##enumerator] = true,
#define IS(...)
#define SHAPE(...)
#define SYNONYMS(...)
#include "ir/composite_view_ops.def"
#undef OP
#undef IS
#undef SHAPE
#undef SYNONYMS
};

/* Whether the operator does the same to both parts: it moves values, or is linear and has no other constants than 0. */
static bool is_of_parts(enum nuc_op op)
{
    static const enum nuc_op more[] = {NUC_OP_NEG,
                                       NUC_OP_MEAN,
                                       NUC_OP_MEAN_DIM,
                                       NUC_OP_SUM,
                                       NUC_OP_SUM_DIM,
                                       NUC_OP_CUMSUM,
                                       NUC_OP_MASKED_FILL,
                                       NUC_OP_MASKED_FILL_TENSOR,
                                       NUC_OP_ZEROS,
                                       NUC_OP_INDEX_COPY,
                                       NUC_OP_WHERE_SCALAR_OTHER,
                                       NUC_OP_WHERE_SCALAR_SELF,
                                       NUC_OP_FFTSHIFT,
                                       NUC_OP_IFFTSHIFT,
                                       NUC_OP_COUNT};
    static const enum nuc_op but[] = {NUC_OP_VIEW_DTYPE, NUC_OP_MH,       NUC_OP_ADJOINT,        NUC_OP_RRELU,
                                      NUC_OP_VANDER,     NUC_OP_DIAGFLAT, NUC_OP_SCATTER_REDUCE, NUC_OP_COUNT};
    const enum nuc_family family = op == NUC_OP_COUNT ? NUC_FAMILY_GRAPH : nuc_op_family(op);

    if (op == NUC_OP_COUNT || nuc_op_is_in(op, but))
        return false;
    return nuc_op_is_in(op, more) ||
           (moves[op] || nuc_op_rearranges(op) || family == NUC_FAMILY_SLICE || family == NUC_FAMILY_CAST ||
            family == NUC_FAMILY_CAT || family == NUC_FAMILY_PAD || family == NUC_FAMILY_SCATTER ||
            family == NUC_FAMILY_SELECT);
}

static void set_parts_of_items(struct nuc_importer *im, struct nuc_node *real, struct nuc_node *imaginary)
{
    for (uint32_t i = 0; i < real->n_users; i++) {
        struct nuc_node *item = real->users[i];
        for (uint32_t k = 0; k < imaginary->n_users; k++) {
            struct nuc_node *other = imaginary->users[k];
            if (nuc_integer(item, NUC_ARG(GETITEM, index), 0) == nuc_integer(other, NUC_ARG(GETITEM, index), 0))
                nuc_set_parts(im, item, item, other);
        }
    }
}

/* Between real and complex numbers a cast is never a view, which one between types of parts may be. */
static void copy_operand(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *json)
{
    struct nuc_json inputs = nuc_json_field(json, "inputs"), input = nuc_json_item(&inputs, 0);
    struct nuc_json arg = nuc_json_field(&input, "arg");
    struct nuc_node *self = nuc_arg_node(node, NUC_SELF);

    if (self == NULL || nuc_names_complex(im, &arg) == nuc_has_complex_result(im, json))
        return;
    struct nuc_node *clone = nuc_add_node(im->g, node, NUC_OP_CLONE, nuc_format(im->cx, "%s_clone", self->name));
    nuc_set_arg_node(clone, im->g, NUC_SELF, self);
    nuc_infer_shape(im->g, clone);
    nuc_made_of(clone, node);
    nuc_set_arg_node(node, im->g, NUC_SELF, clone);
    nuc_add_identity(im, clone);
}

static void add_for_each_part(struct nuc_importer *im, struct nuc_op_form form, const struct nuc_json *json)
{
    const bool is_one = form.op == NUC_OP_ONES_LIKE || form.op == NUC_OP_NEW_ONES;
    const bool of_both = nuc_has_complex_operand(im, json) && !is_one;

    im->part = NUC_PART_REAL;
    struct nuc_node *real = nuc_add_call(im, form, json);
    if (!real->is_tuple && real->vals[0].dtype == NUC_BOOL)
        nuc_fail_unknown(im, json);
    if (nuc_op_family(form.op) == NUC_FAMILY_CAST || form.op == NUC_OP_TO_OTHER || form.op == NUC_OP_TYPE_AS)
        copy_operand(im, real, json);
    im->part = NUC_PART_IMAGINARY;
    /* A real result of complex numbers is that of their real parts. */
    if (nuc_has_complex_result(im, json)) {
        struct nuc_node *imaginary = of_both ? nuc_add_call(im, form, json) : nuc_part_of(im, real, json);
        if (real->is_tuple)
            set_parts_of_items(im, real, imaginary);
        else
            nuc_set_parts(im, real, real, imaginary);
    }
    im->part = NUC_PART_NONE;
}

/* Arguments named "x_imag" are imaginary parts of the arguments x that are complex. */
static void set_imaginary_args(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *json)
{
    const struct nuc_schema *schema = nuc_op_schema(node->op);
    struct nuc_json inputs = nuc_json_field(json, "inputs");

    im->part = NUC_PART_IMAGINARY;
    for (size_t i = 0, count = nuc_json_count(&inputs); i < count; i++) {
        struct nuc_json input = nuc_json_item(&inputs, i);
        struct nuc_json name = nuc_json_field(&input, "name"), arg = nuc_json_field(&input, "arg");
        const char *wanted = nuc_format(im->cx, "%s_imag", nuc_json_string(&name));
        int index = nuc_schema_arg_index(schema, wanted);
        if (!nuc_names_complex(im, &arg))
            continue;
        if (index < 0)
            nuc_json_fail(&name, NUC_UNSUPPORTED, "%s: '%s' must be real", nuc_node_text(im->cx, node),
                          nuc_json_string(&name));
        nuc_read_arg_value(im, node, (uint32_t)index, &arg);
    }
    im->part = NUC_PART_REAL;
}

/* A result that is complex is the two items of a tuple. In place, they are written over the operand. */
static void add_complex_call(struct nuc_importer *im, enum nuc_op op, const struct nuc_json *json)
{
    struct nuc_json outputs = nuc_json_field(json, "outputs"), item = nuc_json_item(&outputs, 0);
    struct nuc_json value = nuc_json_union(&item), name = nuc_json_field(&value, "name");
    const bool is_complex = nuc_has_complex_result(im, json);
    struct nuc_meta metas[2] = {nuc_value_meta(im, nuc_json_string(&name), &name).meta};
    const char *text = nuc_unused_name(im, &name), *overload = strrchr(nuc_pt2_op_name(json), '.');
    const bool in_place = overload[-1] == '_';
    struct nuc_node *parts[2];

    if (nuc_json_count(&outputs) != 1 || is_complex != (nuc_op_schema(op)->n_returns == 2))
        nuc_json_fail(&outputs, NUC_UNSUPPORTED,
                      "the archive states a %s result for %s: export the model again (torch.stft() with "
                      "return_complex=True)",
                      is_complex ? "complex" : "real", nuc_pt2_op_name(json));
    metas[1] = metas[0];
    im->part = NUC_PART_REAL;
    struct nuc_node *node = nuc_start_call(im, (struct nuc_op_form){.op = op},
                                           is_complex ? nuc_format(im->cx, "%s_parts", text) : text, json);
    set_imaginary_args(im, node, json);
    if (!is_complex) {
        nuc_set_val(im->g, node, &metas[0]);
        im->part = NUC_PART_NONE;
        return;
    }
    nuc_set_tuple(im->g, node, metas, 2);
    for (int64_t i = 0; i < 2; i++) {
        const char *item_name = nuc_format(im->cx, "%s_%s", text, i == 0 ? "real" : "imag");
        parts[i] = nuc_add_node(im->g, NULL, NUC_OP_GETITEM, i > 0 || in_place ? item_name : text);
        nuc_set_args(im->g, parts[i], NUC_ARGS(node, i));
        nuc_made_of(parts[i], node);
        nuc_infer_shape(im->g, parts[i]);
    }
    const int of_imag = nuc_schema_arg_index(nuc_op_schema(op), "self_imag");
    for (uint32_t i = 0; in_place && of_imag >= 0 && i < 2; i++) {
        struct nuc_node *copy = nuc_add_node(im->g, NULL, NUC_OP_COPY, i == 0 ? text : NULL);
        copy->in_place = true;
        nuc_set_args(im->g, copy, NUC_ARGS(nuc_arg_node(node, i == 0 ? NUC_SELF : (uint32_t)of_imag), parts[i]));
        nuc_made_of(copy, node);
        nuc_infer_shape(im->g, copy);
        parts[i] = copy;
    }
    im->part = NUC_PART_NONE;
    nuc_name_value(im, text, parts[0]);
    nuc_set_parts(im, parts[0], parts[0], parts[1]);
}

void nuc_import_complex(struct nuc_importer *im, struct nuc_op_form form, const struct nuc_json *json)
{
    enum nuc_op op = nuc_find_complex_op(nuc_pt2_op_name(json));

    if (op == NUC_OP_COUNT && form.op != NUC_OP_COUNT)
        op = nuc_find_complex_op(nuc_op_name(form.op, NUC_ATEN)); /* which the archive calls otherwise */
    if (op != NUC_OP_COUNT)
        add_complex_call(im, op, json);
    else if (is_of_parts(form.op))
        add_for_each_part(im, form, json);
    else
        nuc_fail_unknown(im, json);
}
