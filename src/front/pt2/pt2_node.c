/* The operator nodes of a .pt2 archive: names, results, what is not handled. */
#include <string.h>

#include "front/pt2/importer.h"
#include "host/file.h"
#include "host/text.h"
#include "ir/args.h"

/* ---- operators ---- */

/* What an archive may call besides the rows of ops.def: other names of an operator with the same arguments. */
static const struct alias {
    const char *name;
    enum nuc_op op;   /* what it is here */
    bool is_identity; /* the node is removed once everything that reads it is known */
} aliases[] = {
    /* torch.tensor(...) in forward(): a constant, copied and detached each time */
    {"aten.lift_fresh_copy.default", NUC_OP_CLONE, true},
    {"aten.detach.default", NUC_OP_ALIAS, true},
    {"aten.detach_.default", NUC_OP_ALIAS, true},
    {"aten.detach_copy.default", NUC_OP_ALIAS, true},
    /* checks at run time, which have no value */
    {"aten._assert_async.msg", NUC_OP_ASSERT_TENSOR_METADATA, false},
    {"aten._assert_async.default", NUC_OP_ASSERT_TENSOR_METADATA, false},
    {"aten._assert_scalar.default", NUC_OP_ASSERT_TENSOR_METADATA, false},
    {"aten.conj_physical_.default", NUC_OP_ALIAS, true},
    {"aten.lift_fresh.default", NUC_OP_ALIAS, true},
    {"aten.positive.default", NUC_OP_ALIAS, true},
    {"aten.resolve_conj.default", NUC_OP_ALIAS, true},
    {"aten.resolve_neg.default", NUC_OP_ALIAS, true},
    {"aten.conj.default", NUC_OP_ALIAS, true},
    {"aten.conj_physical.default", NUC_OP_ALIAS, true},
    {"aten.real.default", NUC_OP_ALIAS, true},
    /* the same arguments under another name; a number where there is a tensor becomes a constant */
    {"aten._embedding_bag.default", NUC_OP_EMBEDDING_BAG_FORWARD, false},
    {"aten.add.Scalar", NUC_OP_ADD, false},
    {"aten.sub.Scalar", NUC_OP_SUB, false},
    {"aten.subtract.Tensor", NUC_OP_SUB, false},
    {"aten.subtract.Scalar", NUC_OP_SUB, false},
    {"aten.rsub.Scalar", NUC_OP_RSUB, false},
    {"aten.mul.Scalar", NUC_OP_MUL, false},
    {"aten.multiply.Tensor", NUC_OP_MUL, false},
    {"aten.multiply.Scalar", NUC_OP_MUL, false},
    {"aten.div.Scalar", NUC_OP_DIV, false},
    {"aten.divide.Tensor", NUC_OP_DIV, false},
    {"aten.divide.Scalar", NUC_OP_DIV, false},
    {"aten.true_divide.Tensor", NUC_OP_DIV, false},
    {"aten.true_divide.Scalar", NUC_OP_DIV, false},
    {"aten.div.Scalar_mode", NUC_OP_DIV_MODE, false},
    {"aten.divide.Tensor_mode", NUC_OP_DIV_MODE, false},
    {"aten.divide.Scalar_mode", NUC_OP_DIV_MODE, false},
    {"aten.floor_divide.Scalar", NUC_OP_FLOOR_DIVIDE, false},
    {"aten.max.other", NUC_OP_MAXIMUM, false},
    {"aten.min.other", NUC_OP_MINIMUM, false},
    {"aten.fmod.Scalar", NUC_OP_FMOD, false},
    {"aten.remainder.Scalar", NUC_OP_REMAINDER, false},
    {"aten.eq.Scalar", NUC_OP_EQ, false},
    {"aten.ne.Scalar", NUC_OP_NE, false},
    {"aten.lt.Scalar", NUC_OP_LT, false},
    {"aten.le.Scalar", NUC_OP_LE, false},
    {"aten.gt.Scalar", NUC_OP_GT, false},
    {"aten.ge.Scalar", NUC_OP_GE, false},
    {"aten.not_equal.Tensor", NUC_OP_NE, false},
    {"aten.not_equal.Scalar", NUC_OP_NE, false},
    {"aten.less.Tensor", NUC_OP_LT, false},
    {"aten.less.Scalar", NUC_OP_LT, false},
    {"aten.less_equal.Tensor", NUC_OP_LE, false},
    {"aten.less_equal.Scalar", NUC_OP_LE, false},
    {"aten.greater.Tensor", NUC_OP_GT, false},
    {"aten.greater.Scalar", NUC_OP_GT, false},
    {"aten.greater_equal.Tensor", NUC_OP_GE, false},
    {"aten.greater_equal.Scalar", NUC_OP_GE, false},
    {"aten.bitwise_and.Scalar", NUC_OP_BITWISE_AND, false},
    {"aten.__and__.Tensor", NUC_OP_BITWISE_AND, false},
    {"aten.__and__.Scalar", NUC_OP_BITWISE_AND, false},
    {"aten.bitwise_or.Scalar", NUC_OP_BITWISE_OR, false},
    {"aten.__or__.Tensor", NUC_OP_BITWISE_OR, false},
    {"aten.__or__.Scalar", NUC_OP_BITWISE_OR, false},
    {"aten.bitwise_xor.Scalar", NUC_OP_BITWISE_XOR, false},
    {"aten.__xor__.Tensor", NUC_OP_BITWISE_XOR, false},
    {"aten.__xor__.Scalar", NUC_OP_BITWISE_XOR, false},
    {"aten.bitwise_left_shift.Tensor_Scalar", NUC_OP_BITWISE_LEFT_SHIFT, false},
    {"aten.__lshift__.Tensor", NUC_OP_BITWISE_LEFT_SHIFT, false},
    {"aten.__lshift__.Scalar", NUC_OP_BITWISE_LEFT_SHIFT, false},
    {"aten.bitwise_right_shift.Tensor_Scalar", NUC_OP_BITWISE_RIGHT_SHIFT, false},
    {"aten.__rshift__.Tensor", NUC_OP_BITWISE_RIGHT_SHIFT, false},
    {"aten.__rshift__.Scalar", NUC_OP_BITWISE_RIGHT_SHIFT, false},
    {"aten.negative.default", NUC_OP_NEG, false},
    {"aten.absolute.default", NUC_OP_ABS, false},
    {"aten.arcsin.default", NUC_OP_ASIN, false},
    {"aten.arccos.default", NUC_OP_ACOS, false},
    {"aten.arctan.default", NUC_OP_ATAN, false},
    {"aten.arcsinh.default", NUC_OP_ASINH, false},
    {"aten.arccosh.default", NUC_OP_ACOSH, false},
    {"aten.arctanh.default", NUC_OP_ATANH, false},
    {"aten.fix.default", NUC_OP_TRUNC, false},
    {"aten.clip.default", NUC_OP_CLAMP, false},
    {"aten.arctan2.default", NUC_OP_ATAN2, false},
    {"aten.sgn.default", NUC_OP_SIGN, false},
    {"aten.special_expm1.default", NUC_OP_EXPM1, false},
    {"aten.special_exp2.default", NUC_OP_EXP2, false},
    {"aten.special_erf.default", NUC_OP_ERF, false},
    {"aten.special_erfc.default", NUC_OP_ERFC, false},
    {"aten.special_expit.default", NUC_OP_SIGMOID, false},
    {"aten.special_log1p.default", NUC_OP_LOG1P, false},
    {"aten.special_round.default", NUC_OP_ROUND, false},
    {"aten.special_sinc.default", NUC_OP_SINC, false},
    {"aten.special_logit.default", NUC_OP_LOGIT, false},
    {"aten.concat.default", NUC_OP_CAT, false},
    {"aten.concatenate.default", NUC_OP_CAT, false},
    {"aten.clip.Tensor", NUC_OP_CLAMP_TENSOR, false},
    {"aten.copysign.Scalar", NUC_OP_COPYSIGN, false},
    {"aten.xlogy.Scalar_Other", NUC_OP_XLOGY, false},
    {"aten.xlogy.Scalar_Self", NUC_OP_XLOGY, false},
    {"aten.special_xlogy.self_scalar", NUC_OP_XLOGY, false},
    {"aten.special_xlog1py.other_scalar", NUC_OP_XLOG1PY, false},
    {"aten.special_xlog1py.self_scalar", NUC_OP_XLOG1PY, false},
    {"aten.remainder.Scalar_Tensor", NUC_OP_REMAINDER, false},
    {"aten.bitwise_and.Scalar_Tensor", NUC_OP_BITWISE_AND, false},
    {"aten.bitwise_or.Scalar_Tensor", NUC_OP_BITWISE_OR, false},
    {"aten.bitwise_xor.Scalar_Tensor", NUC_OP_BITWISE_XOR, false},
    {"aten.bitwise_left_shift.Scalar_Tensor", NUC_OP_BITWISE_LEFT_SHIFT, false},
    {"aten.bitwise_right_shift.Scalar_Tensor", NUC_OP_BITWISE_RIGHT_SHIFT, false},
    {"aten.special_xlogy.default", NUC_OP_XLOGY, false},
    {"aten.special_xlogy.other_scalar", NUC_OP_XLOGY, false},
    {"aten.special_logsumexp.default", NUC_OP_LOGSUMEXP, false},
    {"aten.special_log_softmax.int", NUC_OP_LOG_SOFTMAX, false},
    {"aten.special_softmax.int", NUC_OP_SOFTMAX, false},
    {"aten.swapaxes.default", NUC_OP_TRANSPOSE, false},
    {"aten.swapdims.default", NUC_OP_TRANSPOSE, false},
    {"aten.transpose_copy.int", NUC_OP_TRANSPOSE, false},
    {"aten.moveaxis.intlist", NUC_OP_MOVEDIM, false},
    {"aten.moveaxis.int", NUC_OP_MOVEDIM_INT, false},
    {"aten.view_copy.default", NUC_OP_UNSAFE_VIEW, false},
    {"aten.permute_copy.default", NUC_OP_PERMUTE, false},
    {"aten.slice_copy.Tensor", NUC_OP_SLICE, false},
    {"aten.expand_copy.default", NUC_OP_EXPAND, false},
    {"aten.select_copy.int", NUC_OP_SELECT, false},
    {"aten.unsqueeze_copy.default", NUC_OP_UNSQUEEZE, false},
    {"aten.squeeze_copy.dim", NUC_OP_SQUEEZE_DIM, false},
    {"aten.squeeze_copy.dims", NUC_OP_SQUEEZE_DIMS, false},
    {"aten.squeeze_copy.default", NUC_OP_SQUEEZE, false},
    {"aten.t_copy.default", NUC_OP_T, false},
    {"aten.alias_copy.default", NUC_OP_ALIAS, false},
    {"aten.unbind_copy.int", NUC_OP_UNBIND, false},
    {"aten.diagonal_copy.default", NUC_OP_DIAGONAL, false},
    {"aten.unfold_copy.default", NUC_OP_UNFOLD, false},
    {"aten.narrow_copy.default", NUC_OP_NARROW, false},
    {"aten.split_with_sizes_copy.default", NUC_OP_SPLIT_WITH_SIZES, false},
    {"aten.split_copy.Tensor", NUC_OP_SPLIT, false},
    {"aten.as_strided_copy.default", NUC_OP_AS_STRIDED, false},
    {"aten._unsafe_index_put.default", NUC_OP_INDEX_PUT, false},
    {"aten._unsafe_index.Tensor", NUC_OP_INDEX, false},
    /* the result takes the operand's name */
    {"aten.squeeze_.default", NUC_OP_SQUEEZE, false},
    {"aten.squeeze_.dim", NUC_OP_SQUEEZE_DIM, false},
    {"aten.squeeze_.dims", NUC_OP_SQUEEZE_DIMS, false},
    {"aten.unsqueeze_.default", NUC_OP_UNSQUEEZE, false},
    {"aten.transpose_.default", NUC_OP_TRANSPOSE, false},
    {"aten.swapaxes_.default", NUC_OP_TRANSPOSE, false},
    {"aten.swapdims_.default", NUC_OP_TRANSPOSE, false},
    {"aten.t_.default", NUC_OP_T, false},
    {"aten.atleast_1d.Sequence", NUC_OP_BROADCAST_TENSORS, false},
    {"aten.atleast_2d.Sequence", NUC_OP_BROADCAST_TENSORS, false},
    {"aten.atleast_3d.Sequence", NUC_OP_BROADCAST_TENSORS, false},
    {"aten.linspace.Tensor_Tensor", NUC_OP_LINSPACE, false},
    {"aten.linspace.Tensor_Scalar", NUC_OP_LINSPACE, false},
    {"aten.linspace.Scalar_Tensor", NUC_OP_LINSPACE, false},
    {"aten.ravel.default", NUC_OP_FLATTEN, false},
    {"aten.matrix_H.default", NUC_OP_MH, false},
    {"aten.ger.default", NUC_OP_OUTER, false},
    {"aten.row_stack.default", NUC_OP_VSTACK, false},
    {"aten.linalg_matmul.default", NUC_OP_MATMUL, false},
    /* parameters as tensors: read when they are constant */
    {"quantized_decomposed.quantize_per_tensor.tensor", NUC_OP_QUANTIZE_PER_TENSOR, false},
    {"quantized_decomposed.dequantize_per_tensor.tensor", NUC_OP_DEQUANTIZE_PER_TENSOR, false},
};

static const struct alias *find_alias(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].name, name) == 0)
            return &aliases[i];
    }
    return NULL;
}

/* "aten.add_.Scalar" is "aten.add.Scalar" in place: such a name without the mark; NULL when there is none. */
static const struct alias *find_alias_in_place(const char *name)
{
    const char *mark = strstr(name, "_.");
    char functional[64];

    if (mark == NULL || strlen(name) > sizeof functional)
        return NULL;
    memcpy(functional, name, (size_t)(mark - name));
    strcpy(functional + (mark - name), mark + 1);
    const struct alias *alias = find_alias(functional);
    return alias != NULL && nuc_op_has_in_place(alias->op) ? alias : NULL;
}

struct nuc_op_form nuc_pt2_find_op(const char *name)
{
    struct nuc_op_form form = nuc_op_find(name);
    const struct alias *alias = find_alias(name), *in_place = find_alias_in_place(name);

    if (alias != NULL)
        return (struct nuc_op_form){.op = alias->op};
    if (form.op == NUC_OP_COUNT && in_place != NULL)
        return (struct nuc_op_form){.op = in_place->op, .in_place = true};
    if (form.dialect == NUC_EDGE || nuc_op_family(form.op) == NUC_FAMILY_GRAPH)
        form.op = NUC_OP_COUNT;
    return form;
}

/* ---- results ---- */

struct nuc_node *nuc_named_value(struct nuc_importer *im, const struct nuc_json *name)
{
    struct nuc_node *node = nuc_find_node(im->g, nuc_json_string(name));

    if (node == NULL)
        nuc_json_fail(name, NUC_BAD_INPUT, "there is no value '%s' in front of this", nuc_json_string(name));
    return node;
}

/* What the operator's shape rule computed must be what the archive states. */
static void check_value(const struct nuc_importer *im, const struct nuc_node *node, const struct nuc_meta *computed,
                        const struct nuc_json *name)
{
    struct nuc_tensor_meta stated = nuc_value_meta(im, nuc_json_string(name), name);

    if (computed->dtype != stated.meta.dtype || !nuc_same_sizes(computed, &stated.meta))
        nuc_json_fail(name, NUC_BAD_INPUT, "%s: the archive states %s, the operator makes %s",
                      nuc_node_text(im->cx, node), nuc_meta_text(im->cx, &stated.meta),
                      nuc_meta_text(im->cx, computed));
    if (!nuc_same_layout(computed, &stated.meta))
        nuc_warn(im->cx, "%s: %s: the archive states %s, here it is made %s", im->zip->path,
                 nuc_node_text(im->cx, node), nuc_meta_text(im->cx, &stated.meta), nuc_meta_text(im->cx, computed));
}

const char *nuc_unused_name(const struct nuc_importer *im, const struct nuc_json *name)
{
    const char *text = nuc_json_string(name);

    if (text[0] == '\0')
        nuc_json_fail(name, NUC_BAD_INPUT, "the name is empty");
    if (nuc_find_node(im->g, text) != NULL)
        nuc_json_fail(name, NUC_BAD_INPUT, "the name '%s' is used twice", text);
    return text;
}

static void add_item(struct nuc_importer *im, struct nuc_node *tuple, uint32_t index, const struct nuc_json *tensor)
{
    struct nuc_json name = nuc_json_field(tensor, "name");
    struct nuc_node *item = nuc_add_node(im->g, NULL, NUC_OP_GETITEM, nuc_unused_name(im, &name));

    nuc_set_arg_node(item, im->g, NUC_ARG(GETITEM, self), tuple);
    nuc_set_arg_int(item, NUC_ARG(GETITEM, index), index);
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

/* A tuple's items are getitem nodes with the names the archive gives them; as_none marks one that is not used. */
static void add_items(struct nuc_importer *im, struct nuc_node *node, const struct results *r)
{
    const struct nuc_json *list = r->is_list ? &r->value : &r->outputs;
    size_t count = nuc_json_count(list);

    if (count != node->n_vals)
        nuc_json_fail(list, NUC_BAD_INPUT, "%s: %zu results are named, the operator makes %u",
                      nuc_node_text(im->cx, node), count, (unsigned)node->n_vals);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(list, i);
        struct nuc_json value = r->is_list ? item : nuc_json_union(&item);
        if (r->is_list || strcmp(value.key, "as_tensor") == 0)
            add_item(im, node, (uint32_t)i, &value);
        else if (strcmp(value.key, "as_none") != 0)
            nuc_json_fail(&value, NUC_UNSUPPORTED, "%s: a result is not a tensor", nuc_node_text(im->cx, node));
    }
}

/* ---- nodes ---- */

const char *nuc_pt2_op_name(const struct nuc_json *node)
{
    static const char prefix[] = "torch.ops.";
    struct nuc_json target = nuc_json_field(node, "target");
    const char *name = nuc_json_string(&target);

    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

/* A batch norm without running statistics: those of its input are all it can take, in inference too. */
static bool has_no_running_statistics(const struct nuc_node *node)
{
    int index = nuc_schema_arg_index(nuc_op_schema(node->op), "running_mean");

    return node->op == NUC_OP_BATCH_NORM_NO_STATS || (index >= 0 && nuc_arg_node(node, (uint32_t)index) == NULL);
}

/* A program only infers: no operator whose argument says that it trains. */
static void check_inference(const struct nuc_importer *im, const struct nuc_node *node, const struct nuc_json *at)
{
    static const char *const names[] = {"training", "train"};
    bool training = false;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int index = nuc_schema_arg_index(nuc_op_schema(node->op), names[i]);
        training = training || (index >= 0 && nuc_flag(node, (uint32_t)index));
    }
    if (training && !has_no_running_statistics(node))
        nuc_json_fail(at, NUC_UNSUPPORTED, "%s is in training mode: call model.eval() before exporting",
                      nuc_node_text(im->cx, node));
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

static struct nuc_node *add_call(struct nuc_importer *im, struct nuc_op_form form, const char *op,
                                 const struct nuc_json *json)
{
    struct nuc_json metadata = nuc_json_optional(json, "metadata");
    struct nuc_json name;
    struct results results;

    read_results(json, &results);
    if (results.is_tuple)
        name = nuc_json_optional(json, "name");
    else
        name = nuc_json_field(&results.value, "name");
    struct nuc_node *node =
        nuc_add_node(im->g, NULL, form.op, !nuc_json_is_there(&name) ? NULL : nuc_unused_name(im, &name));
    node->in_place = form.in_place;
    struct nuc_source *source = nuc_read_source(im->cx, &metadata);
    source->op = strcmp(op, nuc_node_op_name(node)) == 0 ? nuc_node_op_name(node) : nuc_strdup(im->cx, op);
    source->call = node->name;
    node->source = source;
    nuc_read_args(im, node, json);
    check_inference(im, node, json);
    if (nuc_op_family(node->op) == NUC_FAMILY_COMPOSITE)
        take_stated(im, node, &results);
    nuc_infer_shape(im->g, node);
    if (node->is_tuple != results.is_tuple)
        nuc_json_fail(&results.outputs, NUC_BAD_INPUT, "%s: these are not the results of the operator",
                      nuc_node_text(im->cx, node));
    if (results.is_tuple)
        add_items(im, node, &results);
    else
        check_value(im, node, &node->vals[0], &name);
    return node;
}

static void import_node(struct nuc_importer *im, const struct nuc_json *json)
{
    const char *name = nuc_pt2_op_name(json);
    const struct alias *alias = find_alias(name);
    struct nuc_op_form form = nuc_pt2_find_op(name);

    if (form.op == NUC_OP_ASSERT_TENSOR_METADATA)
        return;
    struct nuc_node *node = add_call(im, form, name, json);
    if (alias == NULL || !alias->is_identity)
        return;
    im->identities =
        nuc_grow(im->cx, im->identities, &im->identities_capacity, im->n_identities + 1, sizeof(struct nuc_node *));
    im->identities[im->n_identities++] = node;
}

bool nuc_has_in_place(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->in_place)
            return true;
    }
    return false;
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

void nuc_import_nodes(struct nuc_importer *im)
{
    struct nuc_json nodes = nuc_json_field(&im->graph, "nodes");
    size_t count = nuc_json_count(&nodes);

    nuc_check_operators(im, &nodes);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json node = nuc_json_item(&nodes, i);
        import_node(im, &node);
    }
}
