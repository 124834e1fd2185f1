/* Checks of formulas and patterns that the build makes, so that no program has to. They fail with NUC_INTERNAL. */
#ifndef NUC_TOOLS_FORMULA_CHECK_H
#define NUC_TOOLS_FORMULA_CHECK_H

#include "rewrite/formula/term.h"

/* Reads all rows and checks names, arities and that each local is used. The message names the row. */
void nuc_formulas_check(struct nuc_context *cx);

/* A row, its text read first; the message names the operator. */
void nuc_check_formula(struct nuc_formulas *formulas, struct nuc_context *cx, const struct nuc_formula_row *row);

/* A row of patterns.def or changes.def. */
void nuc_check_pattern(struct nuc_formulas *formulas, struct nuc_context *cx, const char *title,
                       const struct nuc_pattern *p);

#endif
