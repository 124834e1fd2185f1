/* Pieces of the lines that an explanation is printed in. Texts live in the arena of the context. */
#ifndef NUC_NPU_EXPLAIN_EXPLAIN_LINES_H
#define NUC_NPU_EXPLAIN_EXPLAIN_LINES_H

#include "npu/explain/explain.h"

#define NUC_LINE_WIDTH 80u

/* Of a text that is wider, both ends: they tell names apart. */
const char *nuc_shortened(struct nuc_context *cx, const char *text, size_t width);

/* 1234567 as "1,234,567". */
const char *nuc_with_commas(struct nuc_context *cx, uint64_t value);

/*
 * Words of `text` and the end of the line. `column` characters of the first line are there already, lines after it
 * begin with `indent` spaces; words longer than a line are broken inside.
 */
void nuc_print_words(struct nuc_text *out, size_t column, size_t indent, const char *text);

/* Not NULL and not empty. */
bool nuc_is_text(const char *text);

/* "model.py:23": the last part of the path; "-" when it is not known. */
const char *nuc_source_text(struct nuc_context *cx, const struct nuc_source *source);

/* "aten.gelu at model.py:23 (blocks.0.act)", as far as it is known. */
const char *nuc_place_text(struct nuc_context *cx, const struct nuc_node *node);

/* What a decision found, with places in the model for names of nodes; `names_place` says whether there were any. */
const char *nuc_found_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_decision *d,
                           bool *names_place);

/* Two causes have the same operator, rule and fix: what is said of one holds for the other. */
bool nuc_is_alike(struct nuc_context *cx, const struct nuc_explanation *e, uint32_t a, uint32_t b);

/* The rows (explain_table.c). */
void nuc_print_explain_table(struct nuc_text *out, const struct nuc_explanation *e, bool all);

#endif
