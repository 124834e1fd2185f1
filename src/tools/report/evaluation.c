/* Accuracy on a data set: what `nucleon evaluate` measures, and samples as pictures where they are images. */
#include <string.h>

#include "archive/json_build.h"
#include "data/dataset.h"
#include "tools/evaluate/scored_output.h"
#include "tools/report/full_report.h"
#include "tools/report/png_write.h"

#define MOST_CLASSES 128u     /* of a confusion matrix; of more the most frequent confusions are listed */
#define MOST_CONFUSIONS 64u   /* of these */
#define MOST_EXAMPLES 24u     /* pictures, */
#define MOST_WRONG 18u        /* of these of wrong decisions, while there are right ones */
#define MOST_SIDE 64u         /* pixels of a picture's longer side */
#define MOST_BYTES 300000u    /* of all pictures, as text */
#define PICTURE_OVERHEAD 160u /* of each */
#define MOST_PROPORTION 4     /* of the longer side to the shorter one */
#define LEAST_PIXELS 16       /* of an image */

/* One for each sample of the output that decides first; several in a sample, as of pixels, are none. */
struct decisions {
    struct nuc_context *cx;
    bool any, several;
    size_t output;
    struct nuc_disagreement *items;
    size_t n, capacity;
};

static void take(void *user, const struct nuc_disagreement *decision)
{
    struct decisions *d = user;

    if (!d->any)
        d->output = decision->output;
    d->any = true;
    if (decision->output != d->output)
        return;
    d->several = d->several || decision->position > 0;
    if (d->several)
        return;
    d->items = nuc_grow(d->cx, d->items, &d->capacity, d->n + 1, sizeof *d->items);
    d->items[d->n++] = *decision;
}

/* ---- pictures ---- */

/* How an input is an image, as samples have it. */
struct picture {
    size_t height, width, channels;
    bool channels_last;
    double scale[3], offset[3]; /* pixel = value * scale + offset, of 0 to 255 */
    uint32_t out_height, out_width;
};

static bool is_image(const struct nuc_tensor_info *t, struct picture *p)
{
    if (t->dtype != NUC_F32 || t->rank != 4 || t->sizes[0] != 1 || !nuc_may_be_image(t))
        return false;
    p->channels_last = t->sizes[1] != 1 && t->sizes[1] != 3;
    const int64_t *sizes = &t->sizes[p->channels_last ? 1 : 2];
    p->channels = (size_t)t->sizes[p->channels_last ? 3 : 1];
    p->height = (size_t)sizes[0];
    p->width = (size_t)sizes[1];
    size_t longer = p->height > p->width ? p->height : p->width, shorter = p->height + p->width - longer;
    return shorter > 0 && longer <= MOST_PROPORTION * shorter && p->height * p->width >= LEAST_PIXELS;
}

/* From how images were prepared, or from the range that was calibrated. */
static bool find_values(const struct nuc_report *r, struct picture *p)
{
    const struct nuc_input_facts seen = nuc_input_facts(r->facts.quantized, 0);

    for (size_t c = 0; c < p->channels; c++) {
        const struct nuc_image_metadata *f = seen.images;
        if (f != NULL) {
            p->scale[c] = 255 * f->std[f->n_std > 1 ? c : 0];
            p->offset[c] = 255 * f->mean[f->n_mean > 1 ? c : 0];
            continue;
        }
        if (!(seen.most > seen.least))
            return false;
        p->scale[c] = 255 / (seen.most - seen.least);
        p->offset[c] = -seen.least * p->scale[c];
    }
    return true;
}

/* So large that `n` of them keep to the limits; smaller images stay as they are. */
static void find_size(struct picture *p, size_t n)
{
    size_t longer = p->height > p->width ? p->height : p->width;
    uint32_t side = longer < MOST_SIDE ? (uint32_t)longer : MOST_SIDE;

    for (;; side--) {
        p->out_height = (uint32_t)(p->height * side / longer);
        p->out_width = (uint32_t)(p->width * side / longer);
        p->out_height += p->out_height == 0;
        p->out_width += p->out_width == 0;
        size_t bytes = (size_t)p->out_height * (p->out_width * p->channels + 1) * 4 / 3 + PICTURE_OVERHEAD;
        if (bytes * n <= MOST_BYTES || side == 1)
            return;
    }
}

/* The mean over the pixels that a smaller one stands for. */
static uint8_t pixel(const struct picture *p, const float *sample, uint32_t y, uint32_t x, size_t c)
{
    size_t y0 = y * p->height / p->out_height, y1 = (y + 1) * p->height / p->out_height;
    size_t x0 = x * p->width / p->out_width, x1 = (x + 1) * p->width / p->out_width;
    double sum = 0;

    for (size_t i = y0; i < y1; i++) {
        for (size_t k = x0; k < x1; k++) {
            size_t place = i * p->width + k;
            sum += (double)sample[p->channels_last ? place * p->channels + c : c * p->height * p->width + place];
        }
    }
    double mean = sum / (double)((y1 - y0) * (x1 - x0)) * p->scale[c] + p->offset[c];
    return mean > 0 ? mean < 255 ? (uint8_t)(mean + 0.5) : 255 : 0; /* NaN is black */
}

static const char *draw(const struct nuc_report *r, const struct picture *p, const float *sample)
{
    uint8_t *pixels = nuc_alloc_array(r->cx, (size_t)p->out_height * p->out_width, p->channels), *to = pixels;

    for (uint32_t y = 0; y < p->out_height; y++) {
        for (uint32_t x = 0; x < p->out_width; x++) {
            for (size_t c = 0; c < p->channels; c++)
                *to++ = pixel(p, sample, y, x, c);
        }
    }
    return nuc_png_data_url(r->cx, pixels, p->out_width, p->out_height, (uint32_t)p->channels);
}

/* ---- examples ---- */

/* Without a label, what the float model decides is right; without that, everything is. */
static bool is_wrong(const struct nuc_disagreement *d, bool labelled, bool has_reference)
{
    if (labelled)
        return d->program != d->label;
    return has_reference && d->program != d->reference;
}

/* The wrong ones first, then right ones from all over the data set. */
static size_t choose(const struct nuc_report *r, const struct decisions *d, bool labelled, const size_t **chosen)
{
    size_t *items = nuc_alloc_array(r->cx, MOST_EXAMPLES, sizeof *items), n_wrong = 0, n_right = 0, n = 0;
    bool has_reference = r->evaluation->has_reference;

    for (size_t i = 0; i < d->n; i++)
        n_wrong += is_wrong(&d->items[i], labelled, has_reference);
    size_t right = d->n - n_wrong, most_wrong = right == 0 ? MOST_EXAMPLES : MOST_WRONG;
    for (size_t i = 0; i < d->n && n < most_wrong; i++) {
        if (is_wrong(&d->items[i], labelled, has_reference))
            items[n++] = i;
    }
    size_t wanted = MOST_EXAMPLES - n < right ? MOST_EXAMPLES - n : right, taken = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (is_wrong(&d->items[i], labelled, has_reference))
            continue;
        if (taken < wanted && n_right++ >= taken * right / wanted) {
            items[n++] = i;
            taken++;
        }
    }
    *chosen = items;
    return n;
}

static void put_examples(const struct nuc_report *r, json_t *to, struct nuc_runner *runner,
                         const struct nuc_dataset *data, const struct decisions *d)
{
    json_t *list = nuc_put_array(r->cx, to, "examples");
    struct nuc_tensor_info t;
    struct picture p = {.height = 0};
    const size_t *chosen;

    if (d->n != r->evaluation->n_samples || nuc_runner_n_inputs(runner) == 0 ||
        nuc_runner_input(runner, 0, &t) != NUC_OK || !is_image(&t, &p) || !find_values(r, &p))
        return;
    bool labelled = r->evaluation->outputs[d->output].labels != NULL;
    size_t n = choose(r, d, labelled, &chosen);
    const void **inputs = nuc_alloc_array(r->cx, nuc_runner_n_inputs(runner), sizeof(void *));
    find_size(&p, n);
    for (size_t i = 0; i < n; i++) {
        const struct nuc_disagreement *decision = &d->items[chosen[i]];
        nuc_check(r->cx, nuc_dataset_sample(data, decision->sample, inputs));
        json_t *example = nuc_put_object(r->cx, list, NULL);
        nuc_put_count(r->cx, example, "sample", decision->sample);
        nuc_put_text(r->cx, example, "image", draw(r, &p, inputs[0]));
        nuc_put_known_count(r->cx, example, "label", labelled && decision->label >= 0, (uint64_t)decision->label);
        nuc_put_known_count(r->cx, example, "decision", decision->program >= 0, (uint64_t)decision->program);
        nuc_put_known_count(r->cx, example, "reference", decision->reference >= 0, (uint64_t)decision->reference);
    }
}

/* ---- confusions ---- */

struct confusion {
    size_t label, decision;
    uint64_t count;
};

/* Kept in order: the most frequent first, of equals the first one. */
static void add_confusion(struct confusion *list, size_t *n, struct confusion c)
{
    size_t at = *n;

    while (at > 0 && list[at - 1].count < c.count)
        at--;
    if (at == MOST_CONFUSIONS)
        return;
    *n += *n < MOST_CONFUSIONS;
    memmove(list + at + 1, list + at, (*n - at - 1) * sizeof *list);
    list[at] = c;
}

/* ---- the whole ---- */

void nuc_evaluate_report(struct nuc_report *r)
{
    struct nuc_simulator_options simulator = {.threads = nuc_compiler_options(r->c)->threads};
    struct nuc_evaluate_options options;

    if (!nuc_has_samples(r->dataset))
        return;
    if (!r->facts.report->runs_on_simulator) {
        nuc_warn(r->cx, "%s: the program is not run: its microcode is not nucleon's; there is no evaluation",
                 nuc_model_file(r->model));
        return;
    }
    nuc_evaluate_options_default(&options);
    if (r->o.evaluate != NULL)
        options = *r->o.evaluate;
    r->decisions = nuc_alloc(r->cx, sizeof *r->decisions);
    r->decisions->cx = r->cx;
    options.decided = take;
    options.decided_user = r->decisions;
    nuc_check(r->cx, nuc_runner_open_bytes(r->c, nuc_model_file(r->model), r->facts.program, r->facts.program_size,
                                           &simulator, &r->runner));
    r->data = nuc_dataset_for(r->cx, nuc_compiler_options(r->c), r->dataset);
    nuc_check(r->cx, nuc_evaluate(r->runner, r->data, nuc_model_is_quantized(r->model) ? NULL : r->model, &options,
                                  &r->evaluation));
    const char *missed = r->evaluation->missed;
    if (missed != NULL)
        r->missed = r->missed == NULL ? missed : nuc_format(r->cx, "%s; %s", r->missed, missed);
}

void nuc_put_report_evaluation(struct nuc_report *r)
{
    if (r->evaluation == NULL) {
        nuc_put_null(r->cx, r->tree, "evaluation");
        return;
    }
    json_t *to = nuc_put_object(r->cx, r->tree, "evaluation");
    nuc_put_evaluation(r->cx, to, r->evaluation, MOST_CLASSES);
    nuc_put_text(r->cx, to, "dataset", nuc_samples_name(r->dataset));
    /* The output with labels: wrong decisions of the program, the most frequent ones. */
    const struct nuc_evaluation *e = r->evaluation;
    json_t *list = nuc_put_array(r->cx, to, "confusions");
    const struct nuc_output_score *o = NULL;
    struct confusion found[MOST_CONFUSIONS + 1];
    size_t n = 0;
    for (size_t i = 0; i < e->n_outputs && o == NULL; i++)
        o = e->outputs[i].program_accuracy.confusion != NULL ? &e->outputs[i] : NULL;
    for (size_t label = 0; o != NULL && label < o->n_classes; label++) {
        for (size_t d = 0; d < o->n_classes; d++) {
            uint64_t count = o->program_accuracy.confusion[label * o->n_classes + d];
            if (d != label && count > 0)
                add_confusion(found, &n, (struct confusion){label, d, count});
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_t *c = nuc_put_object(r->cx, list, NULL);
        nuc_put_count(r->cx, c, "label", found[i].label);
        nuc_put_count(r->cx, c, "decision", found[i].decision);
        nuc_put_count(r->cx, c, "count", found[i].count);
    }
    put_examples(r, to, r->runner, r->data, r->decisions);
    nuc_runner_close(r->runner);
}
