/* Why an operator is where it is, and what of that which was tried would change it, in sentences. */
#include <math.h>
#include <string.h>

#include "explain/explain_lines.h"
#include "ir/quant.h"
#include "npu/support/support.h"
#include "rewrite/npu_forms/npu_function.h"

/* ---- why ---- */

static bool reads(const struct nuc_node *node, const struct nuc_node *input)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *in = nuc_next_input(node, &at);

    while (in != NULL && in != input)
        in = nuc_next_input(node, &at);
    return in != NULL;
}

/* What makes a value, as a reader of the value sees it. */
static const char *value_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_node *reader,
                              const struct nuc_node *n)
{
    while (n->op == NUC_OP_GETITEM && nuc_arg_node(n, NUC_SELF) != NULL)
        n = nuc_arg_node(n, NUC_SELF);
    if (nuc_is_user_input(n))
        return nuc_format(cx, "%s, an input of the model,", e->labels.of[n->id]);
    if (nuc_is_state(n))
        return nuc_format(cx, "%s, a state of the model,", e->labels.of[n->id]);
    if (!nuc_is_operator(n))
        return e->labels.of[n->id];
    return nuc_is_same_call(n, reader) ? nuc_format(cx, "its own %s", nuc_part_name(cx, n)) : nuc_place_text(cx, n);
}

/* Of what decides: float, or integers that are not int8 of a scale. */
static const char *numbers_text(const struct nuc_node *value)
{
    return value->n_vals == 0 || value->vals[0].dtype == NUC_F32 ? "float" : nuc_dtype_name(value->vals[0].dtype);
}

/* Of a float value between operators, which decides for both sides. */
static const char *why_float(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_node *node,
                             const struct nuc_node *other)
{
    if (nuc_feeds_output(node))
        return nuc_format(cx, "its result leaves the model in %s", numbers_text(node));
    if (reads(node, other))
        return nuc_format(cx, "it reads %s in %s", value_text(cx, e, node, other), numbers_text(other));
    return nuc_format(cx, "%s reads its result in %s", value_text(cx, e, node, other), numbers_text(node));
}

/* The neighbour of a node that is not quantized; NULL: there is none. */
static const struct nuc_node *float_neighbour(const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    uint32_t i = 0;

    if (input != NULL && !nuc_is_dequantize(input))
        return input;
    while (i < node->n_users && nuc_is_quantize(node->users[i]))
        i++;
    return i < node->n_users ? node->users[i] : NULL;
}

/* As it is spoken: an ELU, an RMS norm, a GELU, a SiLU. */
static const char *article(const char *noun)
{
    const bool is_spelled = noun[0] != '\0' && noun[1] >= 'A' && noun[1] <= 'Z';

    return strchr(is_spelled ? "AEFHILMNORSX" : "aeioAEIO", noun[0]) != NULL ? "an" : "a";
}

/* Of a function that the NPU has in parts: what kept them from being taken. */
static const char *why_not_in_parts(struct nuc_context *cx, const struct nuc_explanation *e, const char *noun,
                                    const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *other = float_neighbour(node);
    double loss = nuc_npu_function_loss(s, nuc_find_node(e->graph, node->name));

    if (other != NULL)
        return nuc_format(cx, "the NPU has %s %s for int8 alone, and %s", article(noun), noun,
                          why_float(cx, e, node, other));
    if (!(loss > NUC_FUNCTION_MAX_LOSS))
        return nuc_format(cx, "the NPU has %s %s in parts, which would stay on the CPU with what is around them",
                          article(noun), noun);
    if (isinf(loss))
        return nuc_format(cx, "the NPU's %s would be several steps off on this input", noun);
    return nuc_format(cx, "the NPU's %s would err by %.1f dB more on this input than rounding does, %.1f are allowed",
                      noun, loss, NUC_FUNCTION_MAX_LOSS);
}

static const char *why_not_there(struct nuc_context *cx, const struct nuc_explanation *e, const char *noun,
                                 const struct nuc_node *node)
{
    const struct nuc_support s = {.g = e->graph, .target = e->target, .flavor = e->flavor};
    const char *written = node->source->op;

    if (nuc_has_npu_function(&s, node))
        return why_not_in_parts(cx, e, noun, &s, node);
    if (nuc_op_family(node->op) == NUC_FAMILY_NORM && written != NULL && strstr(written, "norm") == NULL)
        return nuc_format(cx, "with what is in front of it, it is %s %s, which the NPU does not have", article(noun),
                          noun);
    return nuc_format(cx, "the NPU has no %s", noun);
}

/* What computes it on the CPU. */
static const char *number_text(const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    if (row->cycles == 0 || row->node->n_vals == 0)
        return "";
    if (row->in_float)
        return row->by_measure ? "; computed on the CPU in float, which trials on samples chose"
                               : "; the CPU has no int8 kernel for it and computes in float";
    if (row->node->vals[0].dtype != NUC_F32)
        return "";
    if (nuc_is_int16(row->node))
        return "; computed on the CPU in int16";
    return e->target->cpu != NULL ? "; computed on the CPU in int8" : "; computed on the CPU in float";
}

const char *nuc_why_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    const struct nuc_decision *d = row->decision;
    const char *found = nuc_found_text(cx, e, d, NULL);

    if (d->rule == nuc_has_operator_rule)
        return why_not_there(cx, e, d->actual, row->node);
    if (d->rule == nuc_wide_enough_rule)
        return found;
    if (d->by_cost)
        return nuc_format(cx, "the model takes fewer cycles with it here: %s%s%s", d->actual,
                          nuc_is_text(d->limit) ? ", " : "", nuc_is_text(d->limit) ? d->limit : "");
    if (d->neighbour != NULL && strstr(d->rule, "quantize node") != NULL)
        return why_float(cx, e, d->node, d->neighbour);
    return nuc_format(cx, "required is that %s%s%s%s%s", d->rule, nuc_is_text(found) ? "; found " : "", found,
                      nuc_is_text(d->limit) ? "; allowed " : "", nuc_is_text(d->limit) ? d->limit : "");
}

const char *nuc_reason_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    const struct nuc_source *from = row->node->source;
    const char *number = number_text(e, row);

    if (!e->delegates && row->in_float && from->width == NUC_WIDTH_FLOAT && from->wide != NULL)
        return nuc_format(cx, "stays in float: %s", from->wide);
    if (!e->delegates)
        return row->in_float && nuc_is_text(number) ? number + strlen("; ") : "";
    const char *why = nuc_why_text(cx, e, row);
    return row->decision->rule == nuc_wide_enough_rule ? why : nuc_format(cx, "%s%s", why, number);
}

/* ---- what would help ---- */

double nuc_trial_percent(const struct nuc_explain_trial *t)
{
    return 100 * ((double)t->cycles / (double)t->than_cycles - 1);
}

const char *nuc_trial_name(struct nuc_context *cx, const struct nuc_explain_trial *t)
{
    return t->options != NULL ? t->options : nuc_format(cx, "without %s", t->without);
}

static const char *figures(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_explain_trial *t)
{
    const char *by = t->by_random ? " by one random sample" : "";
    const char *db = isnan(t->sqnr_db) || isnan(e->sqnr_db)
                         ? ""
                         : nuc_format(cx, ", %.1f dB instead of %.1f", t->sqnr_db, e->sqnr_db);

    return nuc_format(cx, "%s cycles less%s (%.0f%%)%s", nuc_with_commas(cx, t->saved_cycles), by, nuc_trial_percent(t),
                      db);
}

const struct nuc_change_place *nuc_change_place_of(const struct nuc_explain_trial *t, const struct nuc_explain_row *row)
{
    for (uint32_t i = 0; i < t->n_places; i++) {
        if (nuc_is_at(&t->places[i], row))
            return &t->places[i];
    }
    return &t->places[0];
}

const char *nuc_fix_text(struct nuc_context *cx, const struct nuc_explanation *e, uint32_t trial,
                         const struct nuc_explain_row *row)
{
    static const char *const effects[] = {[NUC_CHANGE_EXACT] = "",
                                          [NUC_CHANGE_CLOSE] = ", nearly the same",
                                          [NUC_CHANGE_TRAIN] = ", and train the model again",
                                          [NUC_CHANGE_MOVED] = ", and compute the rest in the application"};
    const struct nuc_explain_trial *t = &e->trials[trial];

    if (t->change == NULL)
        return nuc_format(cx, "%s: %s", nuc_trial_name(cx, t), figures(cx, e, t));
    const struct nuc_change_place *place = nuc_change_place_of(t, row);
    const char *all = t->n_places > 1 ? nuc_format(cx, ", at all %u places", t->n_places) : "";
    return nuc_format(cx, "%s in place of %s%s%s: %s; %s makes it", place->to, place->from, effects[t->change->effect],
                      all, figures(cx, e, t), t->options);
}

/* What was tried in vain. */
const char *nuc_no_fix_text(struct nuc_context *cx, const struct nuc_explanation *e, uint32_t cause)
{
    struct nuc_text out = {.cx = cx};
    uint32_t count = 0;

    for (uint32_t i = 0; i < e->n_trials; i++) {
        const struct nuc_explain_trial *t = &e->trials[i];
        bool is_about = false;
        for (uint32_t k = 0; k < e->n_rows && t->change != NULL && !is_about; k++)
            is_about = e->rows[k].cause == cause && nuc_is_about(t, &e->rows[k]);
        if (!is_about)
            continue;
        nuc_text_addf(&out, "%s%s ", count++ == 0 ? "none that was tried helps: " : ", ", t->change->name);
        if (!t->compiles)
            nuc_text_addf(&out, "does not compile");
        else if (nuc_ruins(e, t))
            nuc_text_addf(&out, "makes %.1f dB of %.1f", t->sqnr_db, e->sqnr_db);
        else
            nuc_text_addf(&out, "makes %+.1f%% cycles", nuc_trial_percent(t));
    }
    return count > 0 ? nuc_text_string(&out) : "none is known";
}
