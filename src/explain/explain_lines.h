/* Pieces of the lines that an explanation is printed in. Texts live in the arena of the context. */
#ifndef NUC_EXPLAIN_EXPLAIN_LINES_H
#define NUC_EXPLAIN_EXPLAIN_LINES_H

#include "explain/explain.h"

#define NUC_LINE_WIDTH 80u

/* Of a text that is wider, both ends: they tell names apart. */
const char *nuc_shortened(struct nuc_context *cx, const char *text, size_t width);

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

/* Why a row is on the CPU, without what computes it there; and with that, "" where the NPU was not asked. */
const char *nuc_why_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_explain_row *row);
const char *nuc_reason_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_explain_row *row);

/* Work that --io int8 leaves to the caller: an input is quantized, or an output dequantized. NULL: not known. */
bool nuc_goes_with_int8_io(enum nuc_boundary_kind kind, const struct nuc_node *node);

/* "--io int8", "without --no-delegate". */
const char *nuc_trial_name(struct nuc_context *cx, const struct nuc_explain_trial *t);

/* What its cycles are more than those it is compared with, in percent. */
double nuc_trial_percent(const struct nuc_explain_trial *t);

/* The place of the change that the row is, or is a part of, or the first one. */
const struct nuc_change_place *nuc_change_place_of(const struct nuc_explain_trial *t,
                                                   const struct nuc_explain_row *row);

/* What a trial that helps says of a row that it is about; what was tried of a cause in vain. */
const char *nuc_fix_text(struct nuc_context *cx, const struct nuc_explanation *e, uint32_t trial,
                         const struct nuc_explain_row *row);
const char *nuc_no_fix_text(struct nuc_context *cx, const struct nuc_explanation *e, uint32_t cause);

/*
 * What a decision found, with places in the model for names of nodes; *names_place, unless NULL: whether there were
 * any.
 */
const char *nuc_found_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_decision *d,
                           bool *names_place);

/* An operator that became a part of one, "aten.add.Tensor" as "add". */
const char *nuc_part_name(struct nuc_context *cx, const struct nuc_node *node);

/* Two causes have the same operator, reason and fix: what is said of one holds for the other. */
bool nuc_is_alike(struct nuc_context *cx, const struct nuc_explanation *e, uint32_t a, uint32_t b);

/* The rows (explain_table.c). */
void nuc_print_explain_table(struct nuc_text *out, const struct nuc_explanation *e, bool all);

#endif
