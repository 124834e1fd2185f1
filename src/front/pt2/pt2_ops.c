/* The operators of a .pt2 archive by their names. */
#include <string.h>

#include "front/pt2/importer.h"
#include "host/hash.h"

const char *nuc_pt2_op_name(const struct nuc_json *node)
{
    static const char prefix[] = "torch.ops.";
    struct nuc_json target = nuc_json_field(node, "target");
    const char *name = nuc_json_string(&target);

    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

struct other_name {
    const char *name;
    enum nuc_op op;
};

/* Whose result is the operand: the node is removed once everything that reads it is known. */
static const struct other_name identities[] = {
    /* torch.tensor(...) in forward(): a constant, copied and detached each time */
    {"aten.lift_fresh_copy.default", NUC_OP_CLONE}, {"aten.detach.default", NUC_OP_ALIAS},
    {"aten.detach_.default", NUC_OP_ALIAS},         {"aten.detach_copy.default", NUC_OP_ALIAS},
    {"aten.conj_physical_.default", NUC_OP_ALIAS},  {"aten.lift_fresh.default", NUC_OP_ALIAS},
    {"aten.positive.default", NUC_OP_ALIAS},        {"aten.resolve_conj.default", NUC_OP_ALIAS},
    {"aten.resolve_neg.default", NUC_OP_ALIAS},     {"aten.conj.default", NUC_OP_ALIAS},
    {"aten.conj_physical.default", NUC_OP_ALIAS},   {"aten.real.default", NUC_OP_ALIAS},
};

/* The operator of that name; NUC_OP_COUNT when there is none. */
static enum nuc_op find_identity(const char *name)
{
    for (size_t i = 0; i < sizeof identities / sizeof identities[0]; i++) {
        if (strcmp(identities[i].name, name) == 0)
            return identities[i].op;
    }
    return NUC_OP_COUNT;
}

static const struct {
    enum nuc_op op;
    const char *const *names;
} synonyms[] = {
#define SYNONYMS(op, ...) {NUC_OP_##op, (const char *const[]){__VA_ARGS__, NULL}},
#include "ir/ops.def"
};

/* The same for other names of an operator: those of the schema, and of what has no effect. */
static enum nuc_op find_other_name(const char *name)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        for (const char *const *s = synonyms[i].names; *s != NULL; s++) {
            if (strcmp(*s, name) == 0)
                return synonyms[i].op;
        }
    }
    return find_identity(name);
}

/* "aten.add_.Scalar" is "aten.add.Scalar" in place: such a name without the mark. */
static enum nuc_op find_other_name_in_place(const char *name)
{
    const char *mark = strstr(name, "_.");
    char functional[64];

    if (mark == NULL || strlen(name) > sizeof functional)
        return NUC_OP_COUNT;
    memcpy(functional, name, (size_t)(mark - name));
    strcpy(functional + (mark - name), mark + 1);
    enum nuc_op op = find_other_name(functional);
    return op != NUC_OP_COUNT && nuc_op_has_in_place(op) ? op : NUC_OP_COUNT;
}

enum nuc_op nuc_find_complex_op(const char *name)
{
    const char *overload = strrchr(name, '.');
    char full[80];

    if (overload == NULL || overload == name || (size_t)(overload - name) + sizeof ".complex" > sizeof full)
        return NUC_OP_COUNT;
    size_t length = (size_t)(overload - name) - (overload[-1] == '_');
    memcpy(full, name, length);
    strcpy(full + length, ".complex");
    return nuc_op_find(full).op;
}

static struct nuc_op_form find_op(const char *name)
{
    struct nuc_op_form form = nuc_op_find(name);
    enum nuc_op other = find_other_name(name), in_place = find_other_name_in_place(name);

    if (other != NUC_OP_COUNT)
        return (struct nuc_op_form){.op = other};
    if (form.op == NUC_OP_COUNT && in_place != NUC_OP_COUNT)
        return (struct nuc_op_form){.op = in_place, .in_place = true};
    if (form.op == NUC_OP_COUNT || form.dialect == NUC_EDGE || nuc_op_family(form.op) == NUC_FAMILY_GRAPH)
        form = (struct nuc_op_form){.op = nuc_find_complex_op(name)};
    return form;
}

struct nuc_op_form nuc_pt2_find_op(struct nuc_known_ops *known, const char *name)
{
    const size_t at = nuc_hash_text(NUC_HASH_OF_NOTHING, name) % NUC_N_KNOWN_OPS;

    if (known->of[at].name == NULL || strcmp(known->of[at].name, name) != 0) {
        known->of[at].name = name;
        known->of[at].form = find_op(name);
    }
    return known->of[at].form;
}

bool nuc_pt2_is_identity(const char *name)
{
    return find_identity(name) != NUC_OP_COUNT;
}

/* ---- operators that have graphs as arguments ---- */

static const struct nuc_region_row regions[] = {
    {.name = "wrap_with_set_grad_enabled"},
    {.name = "wrap_with_autocast"},
    {.name = "tag_activation_checkpoint"},
    {.name = "wrap_activation_checkpoint"},
    {.name = "wrap"},
    {.name = "hints_wrapper"},
    {.name = "invoke_subgraph"},
    {.name = "strict_mode"},
    {.name = "run_const_graph"},
    {.name = "cond"},
    {.name = "scan", .is_loop = true, .has_state = true},
    {.name = "map_impl", .is_loop = true},
    {.name = "associative_scan", .is_loop = true, .joins = true},
};

const struct nuc_region_row *nuc_find_region(const struct nuc_json *node)
{
    static const char higher_order[] = "higher_order.";
    const char *name = nuc_pt2_op_name(node);

    if (strncmp(name, higher_order, sizeof higher_order - 1) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++) {
        if (strcmp(regions[i].name, name + sizeof higher_order - 1) == 0)
            return &regions[i];
    }
    return NULL;
}
