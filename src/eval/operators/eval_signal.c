/* Front ends for sound, by the functions that the kernels of a program call: their arithmetic has one definition. */
#include <string.h>

#include "device/signal/features.h"
#include "device/signal/micro.h"
#include "eval/eval_call.h"

/* Values of a frame, the last dimension, and how many frames there are. */
static size_t frame_of(const struct nuc_eval_call *c, uint32_t arg)
{
    const struct nuc_meta *m = nuc_eval_in_meta(c, arg);

    return (size_t)m->sizes[m->rank - 1];
}

static size_t frames_of(const struct nuc_eval_call *c)
{
    return (size_t)nuc_elements(nuc_eval_in_meta(c, NUC_SELF)) / frame_of(c, NUC_SELF);
}

static int32_t number(const struct nuc_eval_call *c, uint32_t arg)
{
    return (int32_t)nuc_integer(c->node, arg, 0);
}

static void run_window(const struct nuc_eval_call *c)
{
    const size_t size = frame_of(c, NUC_SELF);

    for (size_t i = 0; i < frames_of(c); i++)
        nuc_signal_window_s16((const int16_t *)nuc_eval_in(c, NUC_SELF) + i * size,
                              nuc_eval_in(c, NUC_ARG(SIGNAL_WINDOW, window)), size,
                              number(c, NUC_ARG(SIGNAL_WINDOW, shift)), (int16_t *)c->out[0] + i * size);
}

static void run_auto_scale(const struct nuc_eval_call *c)
{
    *(int32_t *)c->out[1] = nuc_signal_auto_scale_s16(nuc_eval_in(c, NUC_SELF), frame_of(c, NUC_SELF), c->out[0]);
}

static void run_rfft(const struct nuc_eval_call *c)
{
    const size_t size = frame_of(c, NUC_SELF), length = (size_t)number(c, NUC_ARG(SIGNAL_RFFT, length));

    for (size_t i = 0; i < frames_of(c); i++)
        nuc_signal_rfft_s16((const int16_t *)nuc_eval_in(c, NUC_SELF) + i * size, size, length,
                            nuc_eval_in(c, NUC_ARG(SIGNAL_RFFT, table)), (int16_t *)c->out[0] + i * (length + 2));
}

static void run_energy(const struct nuc_eval_call *c)
{
    const size_t bins = frame_of(c, NUC_SELF) / 2;

    for (size_t i = 0; i < frames_of(c); i++)
        nuc_signal_energy((const int16_t *)nuc_eval_in(c, NUC_SELF) + 2 * i * bins, bins,
                          (size_t)number(c, NUC_ARG(SIGNAL_ENERGY, start)),
                          (size_t)number(c, NUC_ARG(SIGNAL_ENERGY, end)), (uint32_t *)c->out[0] + i * bins);
}

/* Three rows of the bands, their weights and those of the next band, which are the second row without an argument. */
static struct nuc_filter_bank bank_of(const struct nuc_eval_call *c, uint32_t bands, uint32_t weights,
                                      const int16_t *unweights)
{
    const size_t size = frame_of(c, bands);
    const int16_t *rows = nuc_eval_in(c, bands), *first = nuc_eval_in(c, weights);

    return (struct nuc_filter_bank){size - 1,    rows,
                                    rows + size, rows + 2 * size,
                                    first,       unweights != NULL ? unweights : first + frame_of(c, weights)};
}

static struct nuc_filter_bank filter_bank_of(const struct nuc_eval_call *c)
{
    return bank_of(c, NUC_ARG(SIGNAL_FILTER_BANK, bands), NUC_ARG(SIGNAL_FILTER_BANK, weights),
                   nuc_eval_in(c, NUC_ARG(SIGNAL_FILTER_BANK, unweights)));
}

/* Tables are read before the first run. */
static void check_tables(const struct nuc_eval_call *c, uint32_t first, uint32_t last)
{
    for (uint32_t arg = first; arg <= last; arg++) {
        if (nuc_eval_has_in(c, arg) && !nuc_eval_is_constant_in(c, arg))
            nuc_eval_fail(c, "its tables are computed: make them constants");
    }
}

static void prepare_filter_bank(struct nuc_eval_call *c)
{
    const uint32_t bands = NUC_ARG(SIGNAL_FILTER_BANK, bands), weights = NUC_ARG(SIGNAL_FILTER_BANK, weights);

    if (!nuc_eval_is_constant_in(c, bands))
        nuc_eval_fail(c, "its bands are computed: make them a constant");
    const struct nuc_filter_bank p = filter_bank_of(c);
    if (!nuc_filter_bank_fits(&p, frame_of(c, NUC_SELF), frame_of(c, weights)))
        nuc_eval_fail(c, "a band lies outside the input or the weights");
}

static void run_filter_bank(const struct nuc_eval_call *c)
{
    const struct nuc_filter_bank p = filter_bank_of(c);
    const size_t bins = frame_of(c, NUC_SELF);

    for (size_t i = 0; i < frames_of(c); i++)
        nuc_signal_filter_bank(&p, (const uint32_t *)nuc_eval_in(c, NUC_SELF) + i * bins,
                               (uint64_t *)c->out[0] + i * p.channels);
}

static void run_root(const struct nuc_eval_call *c)
{
    const int32_t *scale_bits = nuc_eval_in(c, NUC_ARG(SIGNAL_ROOT, scale_bits));

    nuc_signal_filter_bank_root(nuc_eval_in(c, NUC_SELF), (size_t)nuc_elements(nuc_eval_result(c)),
                                scale_bits == NULL ? 0 : *scale_bits, c->out[0]);
}

static void run_noise_reduction(const struct nuc_eval_call *c)
{
    const struct nuc_arg *numbers = &c->node->args[NUC_ARG(SIGNAL_NOISE_REDUCTION, numbers)];
    struct nuc_noise_reduction p = {.channels = frame_of(c, NUC_SELF)};

    nuc_noise_reduction_read(numbers->u.ints, numbers->count, &p);
    nuc_signal_noise_reduction(&p, nuc_eval_in(c, NUC_SELF), nuc_eval_in(c, NUC_ARG(SIGNAL_NOISE_REDUCTION, noise)),
                               c->out[1], c->out[0]);
}

static void run_pcan(const struct nuc_eval_call *c)
{
    nuc_signal_pcan(nuc_eval_in(c, NUC_SELF), nuc_eval_in(c, NUC_ARG(SIGNAL_PCAN, noise)),
                    (size_t)nuc_elements(nuc_eval_result(c)), nuc_eval_in(c, NUC_ARG(SIGNAL_PCAN, gains)),
                    number(c, NUC_ARG(SIGNAL_PCAN, snr_shift)), c->out[0]);
}

static void run_log(const struct nuc_eval_call *c)
{
    nuc_signal_filter_bank_log(nuc_eval_in(c, NUC_SELF), (size_t)nuc_elements(nuc_eval_result(c)),
                               (uint32_t)number(c, NUC_ARG(SIGNAL_LOG, scale)),
                               number(c, NUC_ARG(SIGNAL_LOG, correction_bits)), c->out[0]);
}

static void read_features(const struct nuc_eval_call *c, struct nuc_features *p)
{
    const struct nuc_arg *numbers = &c->node->args[NUC_ARG(SIGNAL_FEATURES, numbers)];
    const uint32_t cosines = NUC_ARG(SIGNAL_FEATURES, cosines);

    *p = (struct nuc_features){
        .window_size = frame_of(c, NUC_ARG(SIGNAL_FEATURES, window)),
        .window = nuc_eval_in(c, NUC_ARG(SIGNAL_FEATURES, window)),
        .table = nuc_eval_in(c, NUC_ARG(SIGNAL_FEATURES, table)),
        .factor = (float)nuc_scalar(c->node, NUC_ARG(SIGNAL_FEATURES, factor), 1),
        .bank = bank_of(c, NUC_ARG(SIGNAL_FEATURES, bands), NUC_ARG(SIGNAL_FEATURES, weights), NULL)};
    if (nuc_eval_has_in(c, cosines)) {
        p->cosines = nuc_eval_in(c, cosines);
        p->coefficients = (size_t)nuc_eval_in_meta(c, cosines)->sizes[0];
    }
    nuc_features_read(numbers->u.ints, numbers->count, p);
}

static void prepare_features(struct nuc_eval_call *c)
{
    struct nuc_features p;

    check_tables(c, NUC_ARG(SIGNAL_FEATURES, window), NUC_ARG(SIGNAL_FEATURES, cosines));
    read_features(c, &p);
    if (!nuc_features_fit(&p, frame_of(c, NUC_ARG(SIGNAL_FEATURES, weights))))
        nuc_eval_fail(c, "a band lies outside the spectrum or the weights");
}

static void run_features(const struct nuc_eval_call *c)
{
    const size_t samples = frame_of(c, NUC_SELF), made = (size_t)nuc_elements(nuc_eval_result(c)) / frames_of(c);
    struct nuc_features p;

    read_features(c, &p);
    for (size_t i = 0; i < frames_of(c); i++)
        nuc_signal_features(&p, (const int16_t *)nuc_eval_in(c, NUC_SELF) + i * samples, samples, c->out[1],
                            (float *)c->out[0] + i * made);
}

/* ---- the micro frontend ---- */

static void read_micro(const struct nuc_eval_call *c, struct nuc_micro *p)
{
    const struct nuc_arg *numbers = &c->node->args[NUC_ARG(SIGNAL_MICRO, numbers)];
    const uint32_t gains = NUC_ARG(SIGNAL_MICRO, gains);

    *p = (struct nuc_micro){.window_size = frame_of(c, NUC_ARG(SIGNAL_MICRO, window)),
                            .window = nuc_eval_in(c, NUC_ARG(SIGNAL_MICRO, window)),
                            .table = nuc_eval_in(c, NUC_ARG(SIGNAL_MICRO, table)),
                            .gains = nuc_eval_has_in(c, gains) ? nuc_eval_in(c, gains) : NULL,
                            .factor = (float)nuc_scalar(c->node, NUC_ARG(SIGNAL_MICRO, factor), 1),
                            .bank = bank_of(c, NUC_ARG(SIGNAL_MICRO, bands), NUC_ARG(SIGNAL_MICRO, weights), NULL)};
    nuc_micro_read(numbers->u.ints, numbers->count, p);
}

static void prepare_micro(struct nuc_eval_call *c)
{
    struct nuc_micro p;

    check_tables(c, NUC_ARG(SIGNAL_MICRO, window), NUC_ARG(SIGNAL_MICRO, gains));
    read_micro(c, &p);
    if (!nuc_micro_fits(&p, frame_of(c, NUC_ARG(SIGNAL_MICRO, weights))))
        nuc_eval_fail(c, "a band lies outside the spectrum or the weights");
}

static void run_micro(const struct nuc_eval_call *c)
{
    struct nuc_micro p;

    read_micro(c, &p);
    memcpy(c->out[1], nuc_eval_in(c, NUC_ARG(SIGNAL_MICRO, noise)), p.bank.channels * sizeof(uint32_t));
    nuc_signal_micro(&p, nuc_eval_in(c, NUC_SELF), frame_of(c, NUC_SELF), c->out[1], c->out[2], c->out[0]);
}

const struct nuc_eval_op nuc_eval_signal_micro = {.prepare = prepare_micro, .run = run_micro};
const struct nuc_eval_op nuc_eval_signal_window = {.run = run_window};
const struct nuc_eval_op nuc_eval_signal_auto_scale = {.run = run_auto_scale};
const struct nuc_eval_op nuc_eval_signal_rfft = {.run = run_rfft};
const struct nuc_eval_op nuc_eval_signal_energy = {.run = run_energy};
const struct nuc_eval_op nuc_eval_signal_filter_bank = {.prepare = prepare_filter_bank, .run = run_filter_bank};
const struct nuc_eval_op nuc_eval_signal_root = {.run = run_root};
const struct nuc_eval_op nuc_eval_signal_noise_reduction = {.run = run_noise_reduction};
const struct nuc_eval_op nuc_eval_signal_pcan = {.run = run_pcan};
const struct nuc_eval_op nuc_eval_signal_log = {.run = run_log};
const struct nuc_eval_op nuc_eval_signal_features = {.prepare = prepare_features, .run = run_features};
