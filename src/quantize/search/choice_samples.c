#include "quantize/search/choice_samples.h"

#include <math.h>
#include <string.h>

#include "host/numbers.h"
#include "ir/work.h"
#include "quantize/ranges/observer.h"

#define LEAST_SAMPLES 8

/* Multiply-accumulates of a run on all samples that are kept: some tenths of a second. */
#define MOST_COST 2e9

/* An element of a result takes as long as so many of them, besides its products. */
#define ELEMENT 4.0

double nuc_node_cost(const struct nuc_node *node)
{
    if (!nuc_is_call(node) || node->n_vals == 0)
        return 0;
    return ELEMENT * (double)nuc_elements(&node->vals[0]) + nuc_node_products(node);
}

double nuc_run_cost(const struct nuc_graph *g)
{
    double sum = 1;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        sum += nuc_node_cost(n);
    return sum;
}

struct nuc_choice_samples *nuc_choice_samples_new(struct nuc_graph *g, double cost)
{
    struct nuc_choice_samples *s = nuc_alloc(g->cx, sizeof *s);
    double wanted = MOST_COST / cost;

    wanted = wanted > LEAST_SAMPLES ? wanted : LEAST_SAMPLES;
    s->wanted = wanted < NUC_CHOICE_MOST ? (size_t)wanted : NUC_CHOICE_MOST;
    s->stride = 1;
    s->scores = nuc_scores(g, &s->n_scores);
    return s;
}

unsigned nuc_sample_part(size_t number)
{
    unsigned ones = 0;

    for (; number != 0; number &= number - 1)
        ones++;
    return ones % 2;
}

bool nuc_has_both_parts(const struct nuc_choice_samples *s, size_t count)
{
    bool has[2] = {false, false};

    for (size_t k = 0; k < count; k++)
        has[s->kept[k].part] = true;
    return has[0] && has[1];
}

static size_t block_size(size_t n_samples)
{
    size_t size = 1;

    while (n_samples > NUC_MOST_BLOCKS * size)
        size *= 2;
    return size;
}

unsigned nuc_n_folds(size_t n_samples)
{
    return n_samples < NUC_MOST_FOLDS ? (unsigned)n_samples : NUC_MOST_FOLDS;
}

unsigned nuc_sample_fold(size_t number, size_t n_samples)
{
    size_t size = block_size(n_samples), blocks = (n_samples + size - 1) / size;

    return (unsigned)(number / size * nuc_n_folds(n_samples) / blocks);
}

void nuc_choice_signals(struct nuc_context *cx, struct nuc_choice_samples *s)
{
    s->signal = nuc_alloc_array(cx, s->n_scores, sizeof *s->signal);
    for (size_t i = 0; i < s->n_scores; i++) {
        for (size_t k = 0; k < s->count; k++)
            s->signal[i] += nuc_score_error(&s->scores[i], s->kept[k].values[i], s->kept[k].values[i]).signal;
    }
}

struct nuc_choice_samples nuc_samples_of(const struct nuc_choice_samples *all, const unsigned *of, unsigned which)
{
    struct nuc_choice_samples s = *all;

    s.count = 0;
    for (size_t k = 0; k < all->count; k++) {
        if (of[k] == which)
            s.kept[s.count++] = all->kept[k];
    }
    return s;
}

/* Variance of gains, relative to their squares, that is none. */
#define ALIKE 1e-12

struct mean {
    double value, error; /* its standard error; 0 where all are alike, or there is one */
};

static struct mean mean_of(const double *x, size_t count)
{
    double sum = 0, squares = 0, n = (double)count;

    for (size_t k = 0; k < count; k++) {
        sum += x[k];
        squares += x[k] * x[k];
    }
    double variance = count < 2 ? 0 : (squares - sum * sum / n) / (n - 1);
    return (struct mean){sum / n, variance > ALIKE * squares / n ? sqrt(variance / n) : 0};
}

double nuc_sure_gain(const double *gains, size_t count, double errors)
{
    struct mean m = mean_of(gains, count);

    return m.error > 0 ? m.value - errors * m.error : 0;
}

/* Sums of the same numbers in another order differ by less. */
#define SLACK 1e-9

/*
 * The mean ends at `most` or below it, and the squares of all samples around it are no less than those of the known
 * ones. What is left of it rises with the mean, when few enough are known.
 */
bool nuc_may_gain(const double *gains, size_t known, size_t count, double errors, double least)
{
    double sum = 0, size = 0, squares = 0, n = (double)count;

    for (size_t k = 0; k < count; k++) {
        sum += gains[k];
        size += fabs(gains[k]);
    }
    double most = (sum + SLACK * size) / n;
    for (size_t k = 0; k < known; k++)
        squares += (gains[k] - most) * (gains[k] - most);
    bool rises = errors * errors * (double)known < n * (n - 1);
    return most - (rises ? (1 - SLACK) * errors * sqrt(squares / (n * (n - 1))) : 0) > least;
}

double nuc_most_loss(const double *losses, size_t count, double errors)
{
    struct mean m = mean_of(losses, count);

    return m.value + errors * m.error;
}

/* Errors that are smaller are none: 200 dB. */
#define LEAST_ERROR 1e-20

double nuc_sure_fall(const double *before, const double *after, size_t count, double share, double errors)
{
    double gains[NUC_CHOICE_MOST], logarithms[NUC_CHOICE_MOST];

    for (size_t k = 0; k < count; k++) {
        gains[k] = (1 - share) * before[k] - after[k];
        logarithms[k] = log(fmax(before[k], LEAST_ERROR) / fmax(after[k], LEAST_ERROR));
    }
    double gain = nuc_sure_gain(gains, count, errors);
    return gain > 0 && nuc_sure_gain(logarithms, count, errors) > 0 ? gain : 0;
}

/* What every other sample leaves is used again. */
static void thin_out(struct nuc_choice_samples *s)
{
    for (size_t i = 1; 2 * i < s->count; i++) {
        const struct nuc_choice_sample dropped = s->kept[i];
        s->kept[i] = s->kept[2 * i];
        s->kept[2 * i] = dropped;
    }
    s->count = (s->count + 1) / 2;
    s->stride *= 2;
}

bool nuc_choice_keep(struct nuc_choice_samples *s)
{
    size_t number = s->seen++;

    if (s->count == s->wanted && number % (2 * s->stride) == 0)
        thin_out(s);
    if (s->count == s->wanted || number % s->stride != 0)
        return false;
    struct nuc_choice_sample *k = &s->kept[s->count++];
    k->part = nuc_sample_part(number);
    k->number = number;
    return true;
}

static void make_room(struct nuc_context *cx, struct nuc_choice_samples *s, const struct nuc_evaluator *e,
                      struct nuc_choice_sample *k)
{
    s->n_inputs = nuc_eval_n_inputs(e);
    s->n_outputs = nuc_eval_n_outputs(e);
    k->inputs = nuc_alloc_array(cx, s->n_inputs, sizeof(void *));
    k->outputs = nuc_alloc_array(cx, s->n_outputs, sizeof(void *));
    for (size_t i = 0; i < s->n_inputs; i++)
        k->inputs[i] = nuc_alloc(cx, nuc_bytes(&nuc_eval_input(e, i)->vals[0]));
    for (size_t i = 0; i < s->n_outputs; i++)
        k->outputs[i] = nuc_alloc(cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
    k->values = nuc_alloc_array(cx, s->n_scores, sizeof(float *));
    for (size_t i = 0; i < s->n_scores; i++)
        k->values[i] = nuc_alloc(cx, nuc_bytes(&s->scores[i].node->vals[0]));
}

void nuc_choice_copy(struct nuc_context *cx, struct nuc_choice_samples *s, const struct nuc_evaluator *e,
                     struct nuc_choice_sample *kept, const void *const *inputs)
{
    if (kept->outputs == NULL)
        make_room(cx, s, e, kept);
    for (size_t i = 0; i < s->n_inputs; i++)
        memcpy(kept->inputs[i], inputs[i], nuc_bytes(&nuc_eval_input(e, i)->vals[0]));
}

void nuc_choice_see_outputs(struct nuc_choice_sample *kept, const struct nuc_evaluator *e)
{
    for (size_t i = 0; i < nuc_eval_n_outputs(e); i++)
        memcpy(kept->outputs[i], nuc_eval_result_data(e, i), nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
}

void nuc_choice_see(const struct nuc_choice_samples *s, struct nuc_choice_sample *kept, const struct nuc_node *node,
                    const void *data)
{
    for (size_t i = 0; i < s->n_scores; i++) {
        if (s->scores[i].node == node)
            memcpy(kept->values[i], data, nuc_bytes(&node->vals[0]));
    }
}
