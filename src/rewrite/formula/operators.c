/* Calls of torch's operators: which overload a call means, its node, and what is said of one that has none. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/numbers.h"
#include "ir/args.h"
#include "rewrite/expand/expand.h"
#include "rewrite/formula/term.h"
#include "rewrite/insert.h"

_Noreturn void nuc_formula_fail(const struct nuc_formula_site *s, const char *format, ...)
{
    const struct nuc_formula_host *host = s->formulas->host;
    char what[NUC_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (host != NULL)
        host->refuse(host->of, what);
    nuc_expand_fail(s->g, s->node, "%s", what);
}

/* Overloads differ in their last word: "slice" and "slice.Tensor" name "edge.aten.slice_copy.Tensor". */
bool nuc_formula_names_op(const char *name, enum nuc_op op, enum nuc_dialect dialect)
{
    const char *full = nuc_op_name(op, dialect), *base;

    if (!nuc_op_in_dialect(op, dialect) || nuc_op_kind(op) == NUC_KIND_GRAPH)
        return false;
    full = strncmp(full, "edge.", 5) == 0 ? full + 5 : full;
    base = strchr(full, '.');
    if (base == NULL || base[1] != name[0])
        return false;
    base++;
    const size_t length = strcspn(name, "."), full_length = strcspn(base, ".");
    if (strncmp(base, name, length) != 0 ||
        (full_length != length && strncmp(base + length, "_copy.", sizeof "_copy." - 1) != 0))
        return false;
    return name[length] == '\0' || strcmp(base + full_length, name + length) == 0;
}

/* Whether the value may stand for the argument; a number for a tensor only where constants are made. */
static bool fits(const struct nuc_schema_arg *wanted, const struct nuc_arg *value, bool makes_constants)
{
    switch ((int)value->kind) {
    case NUC_ARG_NONE:
        return wanted->optional || wanted->has_default;
    case NUC_ARG_INT:
        return wanted->kind == NUC_ARG_INT || wanted->kind == NUC_ARG_FLOAT ||
               (makes_constants && wanted->kind == NUC_ARG_NODE);
    case NUC_ARG_FLOAT:
        return wanted->kind == NUC_ARG_FLOAT || (makes_constants && wanted->kind == NUC_ARG_NODE);
    default:
        return wanted->kind == value->kind;
    }
}

/* The schema argument that argument i of a call is for; -1: there is none. */
static int place_of(const struct nuc_schema *schema, uint32_t i, const char *keyword)
{
    if (keyword != NULL)
        return nuc_schema_arg_index(schema, keyword);
    return i < schema->n_args ? (int)i : -1;
}

static bool takes(enum nuc_op op, const struct nuc_arg *args, const char *const *keywords, uint32_t count,
                  bool makes_constants)
{
    const struct nuc_schema *schema = nuc_op_schema(op);
    bool given[64] = {false};

    for (uint32_t i = 0; i < count; i++) {
        int at = place_of(schema, i, keywords == NULL ? NULL : keywords[i]);
        if (at < 0 || !fits(&schema->args[at], &args[i], makes_constants))
            return false;
        given[at] = true;
    }
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (!given[i] && !schema->args[i].has_default && !schema->args[i].optional)
            return false;
    }
    return true;
}

const enum nuc_op *nuc_formula_overloads(struct nuc_context *cx, const char *name, enum nuc_dialect dialect)
{
    enum { MAX_OVERLOADS = 16 };
    enum nuc_op *ops = nuc_alloc_array(cx, MAX_OVERLOADS, sizeof *ops);
    uint32_t count = 0;

    for (unsigned i = 0; i < 2 * NUC_OP_COUNT && count + 1 < MAX_OVERLOADS; i++) {
        enum nuc_op op = (enum nuc_op)(i % NUC_OP_COUNT);
        bool composite = nuc_op_family(op) == NUC_FAMILY_COMPOSITE;
        if (composite == (i >= NUC_OP_COUNT) && nuc_formula_names_op(name, op, dialect))
            ops[count++] = op;
    }
    ops[count] = NUC_OP_COUNT;
    return ops;
}

static enum nuc_op find_overload(const struct nuc_formula_site *s, const struct nuc_callee *callee,
                                 const struct nuc_arg *args, const char *const *keywords, uint32_t count)
{
    for (int round = 0; round < 4; round++) {
        for (const enum nuc_op *op = callee->overloads; *op != NUC_OP_COUNT; op++) {
            bool composite = nuc_op_family(*op) == NUC_FAMILY_COMPOSITE;
            if (composite == (round >= 2) && takes(*op, args, keywords, count, round % 2 == 1))
                return *op;
        }
    }
    nuc_formula_fail(s, "'%s' does not take its arguments: export the model again", callee->operator_name);
}

struct nuc_node *nuc_formula_constant_beside(const struct nuc_formula_site *s, const struct nuc_arg *args,
                                             uint32_t count, uint32_t index)
{
    double number = nuc_number_arg(&args[index]);
    enum nuc_dtype own = s->node->vals[0].dtype;
    bool is_whole = isfinite(number) && nuc_numbers_equal(number, trunc(number)), found = false;

    for (uint32_t i = 0; i < count; i++) {
        bool counts = args[i].kind == NUC_ARG_NODE && (!found || own == NUC_BOOL);
        own = counts ? args[i].u.node->vals[0].dtype : own;
        found = found || counts;
    }
    if (!nuc_is_floating(own))
        own = !is_whole ? NUC_F32 : own == NUC_BOOL ? NUC_I64 : own;
    return nuc_insert_constant(s->g, s->node, own, number);
}

struct nuc_node *nuc_formula_emit(const struct nuc_formula_site *s, const struct nuc_callee *callee,
                                  const struct nuc_arg *args, const char *const *keywords, uint32_t count)
{
    enum nuc_op op = find_overload(s, callee, args, keywords, count);
    const struct nuc_schema *schema = nuc_op_schema(op);
    struct nuc_arg placed[64] = {{0}};
    uint32_t most = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)place_of(schema, i, keywords == NULL ? NULL : keywords[i]);
        placed[at] = args[i];
        if (schema->args[at].kind == NUC_ARG_NODE && nuc_is_number_arg(&args[i])) {
            placed[at] = nuc_node_arg(nuc_formula_constant_beside(s, args, count, i));
            placed[at].given = true;
        }
        most = at + 1 > most ? at + 1 : most;
    }
    struct nuc_node *node = nuc_insert(s->g, s->node, op, s->node);
    nuc_set_args(s->g, node, placed, most);
    for (uint32_t i = 0; i < most; i++)
        node->args[i].given = placed[i].given || !schema->args[i].has_default;
    /* What a composite operator states is the whole value; it is compared when that one is expanded. */
    if (nuc_op_family(op) == NUC_FAMILY_COMPOSITE)
        nuc_set_val(s->g, node, &s->node->vals[0]);
    nuc_infer_shape(s->g, node);
    return node;
}
