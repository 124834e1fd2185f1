/* The rows, and where they are kept once they have been read. */
#include <string.h>

#include "rewrite/formula/term.h"

#define EXPAND NUC_FORMULA_EXPAND
#define TO_EDGE NUC_FORMULA_EDGE
#define TO_EDGE_AS_REFERENCE NUC_FORMULA_REFERENCE
#define TO_EDGE_FOR_EXECUTORCH NUC_FORMULA_EXECUTORCH
#define TO_EDGE_WITHOUT_KERNELS NUC_FORMULA_PORTABLE

const struct nuc_formula_row nuc_formula_rows[] = {
#define IS(use, op, title, ...) {use, NUC_OP_##op, title, #__VA_ARGS__},
#include "ir/ops.def"
};
const size_t nuc_n_formula_rows = sizeof nuc_formula_rows / sizeof *nuc_formula_rows;

const char *const nuc_definition_texts[][2] = {
#define DEF(signature, ...) {#signature, #__VA_ARGS__},
#include "rewrite/formula/definitions.def"
#include "rewrite/npu_forms/npu_forms.def"
    {NULL, NULL},
};

#define WRITTEN NUC_PATTERN_WRITTEN
#define DECOMPOSED NUC_PATTERN_DECOMPOSED
#define NPU NUC_PATTERN_NPU

const struct nuc_pattern_row nuc_pattern_rows[] = {
#define PATTERN(use, title, ...) {use, title, #__VA_ARGS__},
#include "rewrite/recognize/patterns.def"
};
const size_t nuc_n_patterns = sizeof nuc_pattern_rows / sizeof *nuc_pattern_rows;

#define EXACT NUC_CHANGE_EXACT
#define CLOSE NUC_CHANGE_CLOSE
#define TRAIN NUC_CHANGE_TRAIN
#define MOVED NUC_CHANGE_MOVED

const struct nuc_change nuc_changes[] = {
#define CHANGE(name, effect, from, to, ...) {name, effect, from, to, #__VA_ARGS__},
#include "rewrite/recognize/changes.def"
};
const size_t nuc_n_changes = sizeof nuc_changes / sizeof *nuc_changes;

struct nuc_formulas *nuc_formulas_new(struct nuc_context *cx)
{
    struct nuc_formulas *f = nuc_alloc(cx, sizeof *f);
    uint16_t place[NUC_OP_COUNT + 1] = {0};

    f->cx = cx;
    f->read = nuc_alloc_array(cx, nuc_n_formula_rows, sizeof(struct nuc_formula *));
    f->order = nuc_alloc_array(cx, nuc_n_formula_rows, sizeof *f->order);
    f->definitions = nuc_alloc_array(cx, sizeof nuc_definition_texts / sizeof *nuc_definition_texts,
                                     sizeof(struct nuc_definition *));
    f->patterns = nuc_alloc_array(cx, nuc_n_patterns, sizeof(struct nuc_pattern *));
    f->patterns_of = nuc_alloc_array(cx, NUC_OP_COUNT, sizeof(uint16_t *));
    f->changes = nuc_alloc_array(cx, nuc_n_changes, sizeof(struct nuc_pattern *));
    for (size_t i = 0; i < nuc_n_formula_rows; i++)
        f->first[nuc_formula_rows[i].op + 1]++;
    for (unsigned op = 0; op < NUC_OP_COUNT; op++)
        place[op + 1] = f->first[op + 1] = (uint16_t)(f->first[op + 1] + f->first[op]);
    for (size_t i = 0; i < nuc_n_formula_rows; i++)
        f->order[place[nuc_formula_rows[i].op]++] = (uint16_t)i;
    return f;
}

struct nuc_formula *nuc_formula_new(struct nuc_context *cx, const char *title, const char *text)
{
    struct nuc_formula *f = nuc_alloc(cx, sizeof *f);

    nuc_read_formula(cx, title, text, f);
    return f;
}

const struct nuc_formula *nuc_formula_at(struct nuc_formulas *f, size_t row)
{
    const struct nuc_formula_row *r = &nuc_formula_rows[row];

    if (f->read[row] == NULL)
        f->read[row] = nuc_formula_new(f->cx, nuc_op_name(r->op, NUC_ATEN), r->text);
    return f->read[row];
}

const struct nuc_definition *nuc_find_definition(struct nuc_formulas *f, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; nuc_definition_texts[i][0] != NULL; i++) {
        const char *signature = nuc_definition_texts[i][0];
        if (strncmp(signature, name, length) != 0 || signature[length] != '(')
            continue;
        if (f->definitions[i] == NULL) {
            struct nuc_definition *d = nuc_alloc(f->cx, sizeof *d);
            nuc_read_definition(f->cx, signature, nuc_definition_texts[i][1], d);
            f->definitions[i] = d;
        }
        return f->definitions[i];
    }
    return NULL;
}

static const struct nuc_pattern *read_pattern(struct nuc_formulas *f, const struct nuc_pattern **read,
                                              const char *title, const char *text)
{
    if (*read == NULL) {
        struct nuc_pattern *p = nuc_alloc(f->cx, sizeof *p);
        nuc_read_pattern(f->cx, title, text, p);
        *read = p;
    }
    return *read;
}

const struct nuc_pattern *nuc_pattern_at(struct nuc_formulas *f, size_t row)
{
    return read_pattern(f, &f->patterns[row], nuc_pattern_rows[row].title, nuc_pattern_rows[row].text);
}

const struct nuc_pattern *nuc_change_at(struct nuc_formulas *f, size_t row)
{
    return read_pattern(f, &f->changes[row], nuc_changes[row].name, nuc_changes[row].text);
}
