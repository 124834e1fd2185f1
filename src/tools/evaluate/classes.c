/* Decisions among classes, and their tally against labels. */
#include <math.h>

#include "host/numbers.h"
#include "tools/evaluate/scored_output.h"

size_t nuc_decisions(const struct nuc_scores *s)
{
    return s->outer * s->inner;
}

/* Of decision's class `k`. */
static double score(const struct nuc_scores *s, enum nuc_dtype type, const void *data, size_t decision, size_t k)
{
    size_t outer = decision / s->inner, inner = decision % s->inner;

    return nuc_number_at(type, data, (outer * s->classes + k) * s->inner + inner);
}

int64_t nuc_decide(const struct nuc_scores *s, enum nuc_dtype type, const void *data, size_t decision)
{
    size_t best = 0;

    if (s->is_index)
        return nuc_int_at(type, data, decision * s->classes);
    double highest = score(s, type, data, decision, 0);
    if (s->is_binary)
        return isnan(highest) ? NUC_UNDECIDED : highest > s->threshold;
    for (size_t k = 0; k < s->classes; k++) {
        double v = score(s, type, data, decision, k);
        if (isnan(v))
            return NUC_UNDECIDED;
        if (v > highest) {
            highest = v;
            best = k;
        }
    }
    return (int64_t)best;
}

size_t nuc_top_of(const struct nuc_scores *s)
{
    if (s->is_index)
        return s->classes < 2 ? 0 : s->classes < NUC_TOP ? s->classes : NUC_TOP;
    return s->classes > NUC_TOP ? NUC_TOP : 0;
}

bool nuc_is_in_top(const struct nuc_scores *s, enum nuc_dtype type, const void *data, size_t decision, int64_t label)
{
    size_t before = 0;

    if (s->is_index) {
        bool found = false;
        for (size_t k = 0; k < s->classes && k < NUC_TOP; k++)
            found |= nuc_int_at(type, data, decision * s->classes + k) == label;
        return found;
    }
    if (s->is_binary || label < 0 || (uint64_t)label >= s->classes)
        return false;
    double own = score(s, type, data, decision, (size_t)label);
    for (size_t k = 0; k < s->classes; k++) {
        double v = score(s, type, data, decision, k);
        if (isnan(v))
            return false;
        before += v > own || (v == own && k < (size_t)label);
    }
    return before < NUC_TOP;
}

void nuc_tally_init(struct nuc_context *cx, struct nuc_tally *t, size_t n_classes)
{
    *t = (struct nuc_tally){.n_classes = n_classes};
    t->right = nuc_alloc_array(cx, n_classes, sizeof *t->right);
    t->labelled = nuc_alloc_array(cx, n_classes, sizeof *t->labelled);
    t->decided = nuc_alloc_array(cx, n_classes, sizeof *t->decided);
    if (n_classes <= NUC_MAX_CONFUSION)
        t->confusion = nuc_alloc_array(cx, n_classes * n_classes, sizeof *t->confusion);
}

void nuc_tally_add(struct nuc_tally *t, int64_t label, int64_t decision, bool in_top)
{
    t->n++;
    t->n_top += in_top;
    t->labelled[label]++;
    if (decision < 0 || (uint64_t)decision >= t->n_classes)
        return;
    t->decided[decision]++;
    t->n_right += decision == label;
    t->right[label] += decision == label;
    if (t->confusion != NULL)
        t->confusion[(size_t)label * t->n_classes + (size_t)decision]++;
}

void nuc_tally_merge(struct nuc_tally *to, const struct nuc_tally *from)
{
    to->n += from->n;
    to->n_right += from->n_right;
    to->n_top += from->n_top;
    for (size_t k = 0; k < to->n_classes; k++) {
        to->right[k] += from->right[k];
        to->labelled[k] += from->labelled[k];
        to->decided[k] += from->decided[k];
    }
    for (size_t i = 0; to->confusion != NULL && i < to->n_classes * to->n_classes; i++)
        to->confusion[i] += from->confusion[i];
}

struct nuc_label_score nuc_tally_accuracy(const struct nuc_tally *t, size_t top)
{
    struct nuc_label_score a = {.n = t->n, .n_right = t->n_right, .n_top = t->n_top, .top = top};

    for (size_t k = 0; k < t->n_classes; k++) {
        uint64_t either = t->labelled[k] + t->decided[k] - t->right[k];
        if (either == 0)
            continue;
        a.n_present++;
        a.mean_iou += (double)t->right[k] / (double)either;
    }
    a.mean_iou = a.n_present == 0 ? 0 : a.mean_iou / (double)a.n_present;
    a.right = t->right;
    a.labelled = t->labelled;
    a.decided = t->decided;
    a.confusion = t->confusion;
    return a;
}
