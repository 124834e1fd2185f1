/*
 * The nodes of a graph, and graphs inside of it: operators of torch.ops.higher_order have them as arguments. Regions
 * that only say how torch computes (torch.no_grad(), autocast, checkpoints, named pieces of a model) are read in their
 * place; of torch.cond() both sides are, with a choice between their results, unless the condition is known. Loops over
 * the slices of tensors (scan, map, associative_scan) are read once for each slice.
 */
#include <string.h>

#include "front/pt2/importer.h"
#include "ir/args.h"

/* ---- operands ---- */

#define MAX_GRAPHS 2
#define MAX_LISTS 2

/* The arguments of such an operator; structs hold the way to what is read of them, so that they stay where they are. */
struct region {
    struct nuc_json inputs, results, first, list; /* of the results, where the first is a list of them */
    bool is_list;
    struct nuc_json graphs[MAX_GRAPHS], inputs_of[MAX_GRAPHS], args[MAX_GRAPHS], values[MAX_GRAPHS];
    size_t n_graphs;
    struct nuc_node **operands;
    size_t n_operands, operands_capacity;
    size_t lists[MAX_LISTS]; /* how many of them are from the first lists of tensors */
    size_t n_lists;
    struct nuc_node *condition;
    int known; /* the condition where it is known: 0 or 1; -1 */
};

static void add_operand(struct nuc_importer *im, struct region *r, const struct nuc_json *tensor)
{
    struct nuc_json name = nuc_json_field(tensor, "name");

    r->operands = nuc_grow(im->cx, r->operands, &r->operands_capacity, r->n_operands + 1, sizeof(struct nuc_node *));
    r->operands[r->n_operands++] = nuc_named_value(im, &name);
}

/* Tensors behind the graphs are what these work on; the one in front of two graphs is the condition. */
static void read_region(struct nuc_importer *im, const struct nuc_json *node, struct region *r)
{
    *r = (struct region){.known = -1};
    r->inputs = nuc_json_field(node, "inputs");
    r->results = nuc_json_field(node, "outputs");
    for (size_t i = 0, count = nuc_json_count(&r->inputs); i < count; i++) {
        struct nuc_json input = nuc_json_item(&r->inputs, i);
        struct nuc_json arg = nuc_json_field(&input, "arg");
        struct nuc_json value = nuc_json_union(&arg);
        if (strcmp(value.key, "as_graph") == 0 && r->n_graphs < MAX_GRAPHS) {
            size_t k = r->n_graphs++;
            r->inputs_of[k] = nuc_json_item(&r->inputs, i);
            r->args[k] = nuc_json_field(&r->inputs_of[k], "arg");
            r->values[k] = nuc_json_union(&r->args[k]);
            r->graphs[k] = nuc_json_field(&r->values[k], "graph");
        } else if (strcmp(value.key, "as_tensor") == 0 && r->n_graphs == 0) {
            struct nuc_json name = nuc_json_field(&value, "name");
            r->condition = nuc_named_value(im, &name);
        } else if (strcmp(value.key, "as_bool") == 0 && r->n_graphs == 0) {
            r->known = nuc_json_bool(&value);
        } else if (strcmp(value.key, "as_tensor") == 0) {
            add_operand(im, r, &value);
        } else if (strcmp(value.key, "as_tensors") == 0) {
            for (size_t k = 0, n = nuc_json_count(&value); k < n; k++) {
                struct nuc_json item = nuc_json_item(&value, k);
                add_operand(im, r, &item);
            }
            if (r->n_lists < MAX_LISTS)
                r->lists[r->n_lists++] = nuc_json_count(&value);
        }
    }
    if (r->n_graphs == 0)
        nuc_json_fail(&r->inputs, NUC_BAD_INPUT, "none of these is a graph");
}

/* The nodes that graph `k` gives, which reads `operands` as its inputs. */
static struct nuc_node **import_graph(struct nuc_importer *im, const struct region *r, size_t k, size_t expected)
{
    struct nuc_scope *outer = im->scope;
    struct nuc_scope *scope = nuc_open_scope(im->cx, r->graphs[k]);
    struct nuc_json inputs = nuc_json_field(&scope->graph, "inputs");
    struct nuc_json outputs = nuc_json_field(&scope->graph, "outputs");
    struct nuc_node **results = nuc_alloc_array(im->cx, expected, sizeof *results);

    scope->is_region = true;
    if (nuc_json_count(&inputs) != r->n_operands)
        nuc_json_fail(&inputs, NUC_UNSUPPORTED, "%zu inputs for %zu tensors: let the region read tensors only",
                      nuc_json_count(&inputs), r->n_operands);
    for (size_t i = 0; i < r->n_operands; i++) {
        struct nuc_json input = nuc_json_item(&inputs, i);
        struct nuc_json value = nuc_json_union(&input);
        struct nuc_json name = nuc_json_field(&value, "name");
        struct nuc_node **slot = nuc_scope_slot(scope, nuc_json_string(&name));
        if (slot == NULL)
            nuc_json_fail(&name, NUC_BAD_INPUT, "'%s' is not among the tensor values", nuc_json_string(&name));
        *slot = r->operands[i];
    }
    im->scope = scope;
    nuc_import_nodes(im);
    if (nuc_json_count(&outputs) != expected)
        nuc_json_fail(&outputs, NUC_BAD_INPUT, "%zu outputs, where the operator has %zu", nuc_json_count(&outputs),
                      expected);
    for (size_t i = 0; i < expected; i++) {
        struct nuc_json output = nuc_json_item(&outputs, i);
        struct nuc_json value = nuc_json_union(&output);
        if (strcmp(value.key, "as_none") == 0)
            continue;
        struct nuc_json name = nuc_json_field(&value, "name");
        results[i] = nuc_named_value(im, &name);
    }
    im->scope = outer;
    return results;
}

/* ---- results ---- */

/* What the outer graph calls `name`: the value itself, or the one of two that the condition says. */
static void name_result(struct nuc_importer *im, const struct region *r, const struct nuc_json *name,
                        struct nuc_node *yes, struct nuc_node *no)
{
    const char *text = nuc_unused_name(im, name);
    struct nuc_node *node;

    if (no == NULL) {
        node = nuc_add_node(im->g, NULL, NUC_OP_ALIAS, text);
        nuc_set_arg_node(node, im->g, NUC_SELF, yes);
        nuc_add_identity(im, node);
    } else {
        if (!nuc_same_sizes(&yes->vals[0], &no->vals[0]) || yes->vals[0].dtype != no->vals[0].dtype)
            nuc_json_fail(name, NUC_UNSUPPORTED,
                          "the two sides of torch.cond() give %s and %s: let both give the same shape",
                          nuc_meta_text(im->cx, &yes->vals[0]), nuc_meta_text(im->cx, &no->vals[0]));
        node = nuc_add_node(im->g, NULL, NUC_OP_WHERE, text);
        nuc_set_args(im->g, node, NUC_ARGS(r->condition, yes, no));
    }
    nuc_name_value(im, text, node);
    nuc_made_of(node, yes);
    nuc_infer_shape(im->g, node);
    if (node->op == NUC_OP_WHERE && !nuc_same_sizes(&node->vals[0], &yes->vals[0]))
        nuc_json_fail(name, NUC_UNSUPPORTED, "the condition of torch.cond() has dimensions of its own: use a scalar");
}

/* The results of the operator: one tensor each, or one list of them. Returns how many. */
static size_t open_results(struct region *r)
{
    struct nuc_json first = nuc_json_item(&r->results, 0);

    if (nuc_json_is_there(&first)) {
        r->first = first;
        r->list = nuc_json_union(&r->first);
        r->is_list = strcmp(r->list.key, "as_tensors") == 0;
    }
    return nuc_json_count(r->is_list ? &r->list : &r->results);
}

static void name_results(struct nuc_importer *im, const struct region *r, struct nuc_node *const *yes,
                         struct nuc_node *const *no, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(r->is_list ? &r->list : &r->results, i);
        struct nuc_json value = r->is_list ? item : nuc_json_union(&item);
        if (yes[i] == NULL)
            continue;
        struct nuc_json name = nuc_json_field(&value, "name");
        name_result(im, r, &name, yes[i], no != NULL ? no[i] : NULL);
    }
}

/* ---- loops ---- */

#define MAX_COPIES (1 << 18) /* of the operators and values of graphs, one for each step of all loops of an archive */

static struct nuc_node *add_slice(struct nuc_importer *im, struct nuc_node *tensor, size_t at)
{
    struct nuc_node *slice = nuc_add_node(im->g, NULL, NUC_OP_SELECT, NULL);

    nuc_set_args(im->g, slice, NUC_ARGS(tensor, 0, (int64_t)at));
    nuc_made_of(slice, tensor);
    nuc_infer_shape(im->g, slice);
    return slice;
}

static struct nuc_node *add_stack(struct nuc_importer *im, const struct region *r, struct nuc_node *const *slices,
                                  size_t count)
{
    const struct nuc_meta *of = &slices[0]->vals[0];
    int64_t sizes[NUC_MAX_RANK + 1] = {(int64_t)count};

    if (of->rank == NUC_MAX_RANK)
        nuc_json_fail(&r->results, NUC_UNSUPPORTED, "%d dimensions and one for the steps: one less is the limit",
                      NUC_MAX_RANK);
    for (size_t t = 1; t < count; t++) {
        const struct nuc_meta *m = &slices[t]->vals[0];
        if (!nuc_same_sizes(m, of) || m->dtype != of->dtype)
            nuc_json_fail(&r->results, NUC_BAD_INPUT, "steps of the loop give %s and %s", nuc_meta_text(im->cx, of),
                          nuc_meta_text(im->cx, m));
    }
    memcpy(sizes + 1, of->sizes, of->rank * sizeof *sizes);
    struct nuc_meta meta = nuc_meta_make(of->dtype, sizes, of->rank + 1u);
    struct nuc_node *stack = nuc_add_node(im->g, NULL, NUC_OP_STACK, NULL);
    nuc_set_arg_nodes(stack, im->g, NUC_ARG(STACK, tensors), slices, (uint32_t)count);
    nuc_set_arg_int(stack, NUC_ARG(STACK, dim), 0);
    nuc_set_val(im->g, stack, &meta);
    nuc_made_of(stack, slices[count - 1]);
    return stack;
}

/* How many steps the loop over `tensors` has. */
static size_t count_steps(struct nuc_importer *im, const struct region *r, struct nuc_node *const *tensors,
                          size_t count, size_t n_results)
{
    int64_t steps = count > 0 && tensors[0]->vals[0].rank > 0 ? tensors[0]->vals[0].sizes[0] : 0;
    bool same = steps > 0;

    for (size_t i = 0; i < count && same; i++)
        same = tensors[i]->vals[0].rank > 0 && tensors[i]->vals[0].sizes[0] == steps;
    if (!same)
        nuc_json_fail(&r->inputs, NUC_BAD_INPUT, "the loop is over tensors of different lengths, or of none");
    struct nuc_json nodes = nuc_json_field(&r->graphs[0], "nodes");
    struct nuc_json values = nuc_json_field(&r->graphs[0], "tensor_values");
    const size_t n_values = nuc_json_maybe_count(&values), n_ends = r->n_operands + n_results;
    const size_t copied = 1 + nuc_json_count(&nodes) + (n_values > n_ends ? n_values : n_ends);
    if ((uint64_t)steps > (MAX_COPIES - im->n_copies) / copied)
        nuc_json_fail(
            &r->inputs, NUC_UNSUPPORTED,
            "%lld steps of a loop with %zu operators and values: %d of all steps is the limit; let a step work "
            "on more",
            (long long)steps, copied - 1, MAX_COPIES);
    im->n_copies += (size_t)steps * copied;
    return (size_t)steps;
}

/* Early archives say here that the loop is over another dimension, or in reverse. */
static void refuse_numbers(const struct region *r)
{
    for (size_t i = 0, count = nuc_json_count(&r->inputs); i < count; i++) {
        struct nuc_json input = nuc_json_item(&r->inputs, i);
        struct nuc_json arg = nuc_json_field(&input, "arg");
        struct nuc_json value = nuc_json_union(&arg);
        if ((strcmp(value.key, "as_int") == 0 && nuc_json_int(&value) != 0) ||
            (strcmp(value.key, "as_bool") == 0 && nuc_json_bool(&value)))
            nuc_json_fail(&value, NUC_UNSUPPORTED,
                          "of a loop only tensors are read: let it be over the first dimension, forwards");
    }
}

static void import_loop(struct nuc_importer *im, struct region *r, const struct nuc_region_row *loop, size_t n_results)
{
    struct nuc_node **given = r->operands;
    refuse_numbers(r);
    const size_t n_given = r->n_operands, n_carried = loop->has_state ? r->lists[0] : 0;
    const size_t n_slices = r->lists[loop->has_state], n_state = loop->joins ? n_slices : n_carried;
    const size_t n_steps = count_steps(im, r, given + n_carried, n_slices, n_results);
    const size_t n_made = loop->joins ? n_slices : n_results - n_carried;

    if (n_carried > n_results || (loop->joins && n_results != n_slices))
        nuc_json_fail(&r->results, NUC_BAD_INPUT, "these are not the results of the loop");
    struct nuc_node **made = nuc_alloc_array(im->cx, n_made * n_steps, sizeof *made);
    struct nuc_node **results = given;
    for (size_t t = 0; t < n_steps; t++) {
        struct nuc_node **operands = nuc_alloc_array(im->cx, n_given + n_state, sizeof *operands);
        struct nuc_node **slices = operands + n_state, **rest = slices + n_slices;
        for (size_t i = 0; i < n_slices; i++)
            slices[i] = add_slice(im, given[n_carried + i], t);
        for (size_t i = 0; i < n_state; i++)
            operands[i] = results[i];
        for (size_t i = n_carried + n_slices; i < n_given; i++)
            *rest++ = given[i];
        r->operands = operands;
        r->n_operands = (size_t)(rest - operands);
        results = loop->joins && t == 0 ? slices : import_graph(im, r, 0, n_results);
        for (size_t i = 0; i < n_results; i++) {
            if (results[i] == NULL)
                nuc_json_fail(&r->results, NUC_BAD_INPUT, "a step gives None");
        }
        for (size_t i = 0; i < n_made; i++)
            made[i * n_steps + t] = results[n_carried + i];
    }
    struct nuc_node **all = nuc_alloc_array(im->cx, n_results, sizeof *all);
    for (size_t i = 0; i < n_results; i++)
        all[i] = i < n_carried ? results[i] : add_stack(im, r, made + (i - n_carried) * n_steps, n_steps);
    name_results(im, r, all, NULL, n_results);
}

static void import_region(struct nuc_importer *im, const struct nuc_json *node)
{
    const struct nuc_region_row *loop = nuc_find_region(node);
    struct region r;

    read_region(im, node, &r);
    size_t count = open_results(&r);
    if (loop->is_loop) {
        import_loop(im, &r, loop, count);
        return;
    }
    bool chooses = r.n_graphs == 2 && r.known < 0;
    if (chooses && r.condition == NULL)
        nuc_json_fail(node, NUC_UNSUPPORTED, "the condition is not a tensor: let it be one, or a number of Python's");
    struct nuc_node **yes = import_graph(im, &r, r.n_graphs == 2 && r.known == 0 ? 1 : 0, count);
    struct nuc_node **no = chooses ? import_graph(im, &r, 1, count) : NULL;
    name_results(im, &r, yes, no, count);
}

/* ---- nodes ---- */

static void import_node(struct nuc_importer *im, const struct nuc_json *json)
{
    const char *name = nuc_pt2_op_name(json);
    struct nuc_op_form form = nuc_pt2_find_op(&im->known, name);

    if (form.op == NUC_OP_ASSERT_TENSOR_METADATA)
        return;
    if (form.op == NUC_OP_COUNT)
        nuc_fail_unknown(im, json);
    /* By the name that it has here, an archive of nucleon's has it, of the parts. */
    const bool is_own = strcmp(nuc_op_name(form.op, NUC_ATEN), name) == 0;
    if ((!is_own && form.op == nuc_find_complex_op(name)) ||
        (im->scope->has_complex && nuc_is_complex_call(im, json))) {
        nuc_import_complex(im, form, json);
        return;
    }
    struct nuc_node *node = nuc_add_call(im, form, json);
    if (nuc_pt2_is_identity(name))
        nuc_add_identity(im, node);
}

void nuc_import_nodes(struct nuc_importer *im)
{
    struct nuc_json nodes = nuc_json_field(&im->scope->graph, "nodes");
    size_t count = nuc_json_count(&nodes);
    const bool *taken = nuc_nodes_to_import(im->cx, im->scope);

    for (size_t i = 0; i < count; i++) {
        struct nuc_json node = nuc_json_item(&nodes, i);
        if (!taken[i] || nuc_is_about_sizes(&node))
            continue;
        bool is_region = nuc_find_region(&node) != NULL;
        im->part = NUC_PART_NONE;
        if (im->cx->obstacles != NULL)
            nuc_import_or_cut(im, &node, is_region ? import_region : import_node);
        else if (is_region)
            import_region(im, &node);
        else
            import_node(im, &node);
    }
}
