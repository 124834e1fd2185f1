/* Operators that no row of ops.def is for, and what helps. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "front/pt2/importer.h"
#include "host/file.h"
#include "host/text.h"

/* Out of scope for good. Patterns, as of a shell, are of the name between "aten." and the overload. */
static const struct {
    const char *reason;
    const char *patterns[24];
} scopes[] = {
    {"belongs to a backward pass: export the model for inference", {"*_backward", "*_backward_*"}},
    {"makes random numbers: make them outside and give them to the model as an input",
     {"rand",     "rand_like",  "randn",       "randn_like", "randint",     "randint_like",
      "randperm", "bernoulli",  "bernoulli_",  "normal",     "normal_",     "normal_functional",
      "uniform",  "uniform_",   "multinomial", "poisson",    "exponential", "exponential_",
      "cauchy*",  "geometric*", "log_normal*", "random_",    "*_with_noise"}},
    {"gives a tensor whose shape depends on the data, where a program has fixed memory: use a mask or a fixed number "
     "of elements",
     {"nonzero", "nonzero_numpy", "argwhere", "masked_select", "unique*", "_unique*", "bincount", "combinations_of_*",
      "repeat_interleave"}},
    {"reads a value of a tensor into Python: let the value stay a tensor",
     {"item", "_local_scalar_dense", "is_nonzero", "equal", "allclose"}},
    {"decomposes or solves matrices, for which no kernel is there: keep it outside of the model",
     {"linalg_svd*",     "_linalg_*",     "linalg_qr",    "linalg_eig*",  "linalg_inv*", "linalg_cholesky*",
      "linalg_lu*",      "linalg_solve*", "linalg_lstsq", "linalg_pinv*", "linalg_det",  "linalg_slogdet",
      "linalg_matrix_*", "linalg_ldl*",   "cholesky*",    "inverse",      "lu_*",        "triangular_solve",
      "pinverse",        "svd",           "qr",           "geqrf",        "ormqr"}},
    {"works on sparse or nested tensors: use dense ones", {"*sparse*", "_nested_*", "nested_*", "to_dense"}},
};

#define CALL_DECOMPOSITIONS "other operators express: call run_decompositions() on the exported program"

/* What torch expresses by operators that are handled, as its table of decompositions has it. */
static const char *const decomposed[] = {"*_loss",
                                         "binary_cross_entropy*",
                                         "chain_matmul",
                                         "corrcoef",
                                         "cov",
                                         "float_power",
                                         "frobenius_norm",
                                         "linalg_vander",
                                         "linalg_matrix_power",
                                         "*_copy",
                                         "matrix_power",
                                         "pad_sequence",
                                         "renorm",
                                         "trapz"};

static bool matches(const char *const *patterns, size_t count, const char *base)
{
    size_t i = 0;

    while (i < count && (patterns[i] == NULL || fnmatch(patterns[i], base, 0) != 0))
        i++;
    return i < count;
}

static const char *reason_of(struct nuc_importer *im, const struct nuc_json *node)
{
    struct nuc_context *cx = im->cx;
    const char *name = nuc_pt2_op_name(node);

    if (im->scope->has_complex && nuc_is_complex_call(im, node))
        return "is not handled on complex numbers: compute it from z.real and z.imag";
    if (strcmp(name, "higher_order.while_loop") == 0)
        return "may go on for ever: write a fixed number of steps as a for loop or torch's scan()";
    if (strncmp(name, "torch._functorch.", 17) == 0) /* an associative_scan, mapped over a dimension */
        return CALL_DECOMPOSITIONS;
    if (strncmp(name, "aten.", 5) != 0)
        return "is not an operator of torch: replace it in the model by operators of torch";
    size_t length = strcspn(name + 5, ".");
    const char *base = nuc_format(cx, "%.*s", (int)length, name + 5);

    if (matches(decomposed, sizeof decomposed / sizeof decomposed[0], base))
        return CALL_DECOMPOSITIONS;
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        if (matches(scopes[i].patterns, sizeof scopes[i].patterns / sizeof scopes[i].patterns[0], base))
            return scopes[i].reason;
    }
    return "no kernel computes: keep it outside of the model";
}

/* ---- the message ---- */

#define MAX_LISTED 16

/* Name and place, and what helps. */
static void list_operator(struct nuc_importer *im, const struct nuc_json *node, struct nuc_text *list)
{
    struct nuc_json name = nuc_json_optional(node, "name");
    struct nuc_json metadata = nuc_json_optional(node, "metadata");
    const struct nuc_source *source = nuc_read_source(im->cx, &metadata, NULL);

    nuc_text_addf(list, "%s%s (node '%s'", list->length == 0 ? "" : ", ", nuc_pt2_op_name(node),
                  !nuc_json_is_there(&name) ? "?" : nuc_json_string(&name));
    if (source->file != NULL)
        nuc_text_addf(list, ", %s:%d", nuc_base_name(source->file), source->line);
    nuc_text_addf(list, "), which %s", reason_of(im, node));
}

void nuc_fail_unknown(struct nuc_importer *im, const struct nuc_json *node)
{
    struct nuc_text text = {.cx = im->cx};

    list_operator(im, node, &text);
    nuc_fail(im->cx, NUC_UNSUPPORTED, "%s: not handled: %s", im->zip->path, nuc_text_string(&text));
}

/* What a graph, and those inside of it, have that is not handled. */
struct unknown {
    struct nuc_importer *im;
    const char *names[MAX_LISTED];
    size_t count;
    struct nuc_text list;
};

static void list_unknown(struct unknown *u, struct nuc_scope *scope)
{
    struct nuc_json nodes = nuc_json_field(&scope->graph, "nodes");
    const bool *live = NULL; /* asked for where there is an unknown operator */

    for (size_t i = 0, count = nuc_json_count(&nodes); i < count && u->count < MAX_LISTED; i++) {
        struct nuc_json node = nuc_json_item(&nodes, i);
        struct nuc_json inputs = nuc_json_field(&node, "inputs");
        const char *name = nuc_pt2_op_name(&node);
        for (size_t k = 0, n = nuc_find_region(&node) != NULL ? nuc_json_count(&inputs) : 0; k < n; k++) {
            struct nuc_json input = nuc_json_item(&inputs, k);
            struct nuc_json arg = nuc_json_field(&input, "arg");
            struct nuc_json value = nuc_json_union(&arg);
            if (strcmp(value.key, "as_graph") == 0)
                list_unknown(u, nuc_open_scope(u->im->cx, nuc_json_field(&value, "graph")));
        }
        if (nuc_is_about_sizes(&node) || nuc_find_region(&node) != NULL ||
            nuc_pt2_find_op(&u->im->known, name).op != NUC_OP_COUNT || nuc_is_one_of(name, u->names, u->count))
            continue;
        live = live != NULL ? live : nuc_live_nodes(u->im->cx, scope);
        if (!live[i])
            continue;
        u->names[u->count++] = name;
        list_operator(u->im, &node, &u->list);
    }
}

/* One line that lists each unknown operator with the first place it is called at. */
void nuc_check_operators(struct nuc_importer *im)
{
    struct unknown u = {.im = im, .list = {.cx = im->cx}};

    list_unknown(&u, im->scope);
    if (u.count != 0)
        nuc_fail(im->cx, NUC_UNSUPPORTED, "%s: not handled: %s", im->zip->path, nuc_text_string(&u.list));
}
