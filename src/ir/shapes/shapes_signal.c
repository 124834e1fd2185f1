/* Front ends for sound, types and sizes of LiteRT's signal operators, and for cameras. */
#include "device/signal/features.h"
#include "device/signal/frame.h"
#include "device/signal/micro.h"
#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* The tensor, of that type and of at least one dimension, whose last one is a frame. */
static const struct nuc_meta *frames(const struct nuc_shape_call *c, uint32_t index, enum nuc_dtype dtype)
{
    const struct nuc_meta *m = nuc_shape_input(c, index);

    if (m->dtype != dtype || m->rank < 1 || m->sizes[m->rank - 1] < 1)
        nuc_shape_fail(c, "argument %u is %s instead of %s of one dimension or more", (unsigned)index,
                       nuc_meta_text(c->g->cx, m), nuc_dtype_name(dtype));
    return m;
}

/* A list of so many int16. */
static void list(const struct nuc_shape_call *c, uint32_t index, int64_t count)
{
    const struct nuc_meta *m = nuc_shape_input(c, index);

    if (m->dtype != NUC_I16 || m->rank != 1 || m->sizes[0] != count)
        nuc_shape_fail(c, "argument %u is %s instead of int16[%lld]", (unsigned)index, nuc_meta_text(c->g->cx, m),
                       (long long)count);
}

static int64_t within(const struct nuc_shape_call *c, uint32_t index, int64_t low, int64_t high)
{
    const int64_t number = nuc_shape_int(c, index);

    if (number < low || number > high)
        nuc_shape_fail(c, "argument %u is %lld, outside %lld to %lld", (unsigned)index, (long long)number,
                       (long long)low, (long long)high);
    return number;
}

/* How many channels bands of three rows make. */
static int64_t channels_of(const struct nuc_shape_call *c, uint32_t index)
{
    const struct nuc_meta *bands = nuc_shape_input(c, index);

    if (bands->dtype != NUC_I16 || bands->rank != 2 || bands->sizes[0] != 3 || bands->sizes[1] < 2)
        nuc_shape_fail(c, "bands are %s instead of int16[3, 2] or more", nuc_meta_text(c->g->cx, bands));
    return bands->sizes[1] - 1;
}

/* The same with two rows of weights. */
static int64_t weighted_channels(const struct nuc_shape_call *c, uint32_t bands_at, uint32_t weights_at)
{
    const int64_t channels = channels_of(c, bands_at);
    const struct nuc_meta *weights = nuc_shape_input(c, weights_at);

    if (weights->dtype != NUC_I16 || weights->rank != 2 || weights->sizes[0] != 2)
        nuc_shape_fail(c, "weights are %s instead of two rows of int16", nuc_meta_text(c->g->cx, weights));
    return channels;
}

/* The result of the input's frames, each of them `size` values of that type. */
static void result(const struct nuc_shape_call *c, const struct nuc_meta *in, enum nuc_dtype dtype, int64_t size)
{
    struct nuc_meta m = *in;

    m.sizes[m.rank - 1] = size;
    m = nuc_meta_make(dtype, m.sizes, m.rank);
    nuc_shape_result(c, &m);
}

void nuc_shape_signal_window(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I16);
    const int64_t size = in->sizes[in->rank - 1];

    list(c, NUC_ARG(SIGNAL_WINDOW, window), size);
    within(c, NUC_ARG(SIGNAL_WINDOW, shift), 0, 31);
    result(c, in, NUC_I16, size);
}

void nuc_shape_signal_auto_scale(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I16);

    nuc_shape_results(
        c, (struct nuc_meta[]){nuc_meta_make(NUC_I16, in->sizes, in->rank), nuc_meta_make(NUC_I32, NULL, 0)}, 2);
}

void nuc_shape_signal_rfft(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I16);
    const int64_t length = within(c, NUC_ARG(SIGNAL_RFFT, length), NUC_RFFT_SHORTEST, NUC_RFFT_LONGEST);

    if ((length & (length - 1)) != 0 || in->sizes[in->rank - 1] > length)
        nuc_shape_fail(c, "the length %lld of the transform of %s is no power of two, or less than a frame",
                       (long long)length, nuc_meta_text(c->g->cx, in));
    list(c, NUC_ARG(SIGNAL_RFFT, table), (int64_t)nuc_rfft_table_numbers((size_t)length));
    result(c, in, NUC_I16, length + 2);
}

void nuc_shape_signal_energy(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I16);
    const int64_t numbers = in->sizes[in->rank - 1], bins = numbers / 2;

    if (numbers % 2 != 0)
        nuc_shape_fail(c, "%s has no pairs", nuc_meta_text(c->g->cx, in));
    within(c, NUC_ARG(SIGNAL_ENERGY, end), within(c, NUC_ARG(SIGNAL_ENERGY, start), 0, bins), bins);
    result(c, in, NUC_I32, bins);
}

void nuc_shape_signal_filter_bank(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I32);
    const struct nuc_meta *weights = nuc_shape_input(c, NUC_ARG(SIGNAL_FILTER_BANK, weights));
    const int64_t channels = channels_of(c, NUC_ARG(SIGNAL_FILTER_BANK, bands));

    list(c, NUC_ARG(SIGNAL_FILTER_BANK, weights), weights->rank == 1 ? weights->sizes[0] : -1);
    list(c, NUC_ARG(SIGNAL_FILTER_BANK, unweights), weights->sizes[0]);
    result(c, in, NUC_I64, channels);
}

void nuc_shape_signal_root(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I64);
    const struct nuc_meta *bits = nuc_shape_input(c, NUC_ARG(SIGNAL_ROOT, scale_bits));

    if (bits->dtype != NUC_I32 || bits->rank != 0)
        nuc_shape_fail(c, "scale_bits are %s instead of one int32", nuc_meta_text(c->g->cx, bits));
    result(c, in, NUC_I32, in->sizes[in->rank - 1]);
}

void nuc_shape_signal_noise_reduction(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I32);
    const struct nuc_meta *noise = nuc_shape_input(c, NUC_ARG(SIGNAL_NOISE_REDUCTION, noise));
    uint32_t count;
    const int64_t *numbers = nuc_shape_ints(c, NUC_ARG(SIGNAL_NOISE_REDUCTION, numbers), &count);

    if (in->rank != 1 || noise->dtype != NUC_I32 || !nuc_same_sizes(in, noise))
        nuc_shape_fail(c, "channels are %s and their noise %s: both are a list of int32", nuc_meta_text(c->g->cx, in),
                       nuc_meta_text(c->g->cx, noise));
    if (!nuc_noise_reduction_read(numbers, count, &(struct nuc_noise_reduction){0}))
        nuc_shape_fail(c, "numbers are not five factors, bits of a channel, of factors, and whether to clamp");
    const struct nuc_meta m = nuc_meta_make(NUC_I32, in->sizes, 1);
    nuc_shape_results(c, (struct nuc_meta[]){m, m}, 2);
}

void nuc_shape_signal_pcan(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I32);
    const struct nuc_meta *noise = nuc_shape_input(c, NUC_ARG(SIGNAL_PCAN, noise));

    if (noise->dtype != NUC_I32 || !nuc_same_sizes(in, noise))
        nuc_shape_fail(c, "channels are %s and their noise %s", nuc_meta_text(c->g->cx, in),
                       nuc_meta_text(c->g->cx, noise));
    list(c, NUC_ARG(SIGNAL_PCAN, gains), NUC_PCAN_GAINS);
    within(c, NUC_ARG(SIGNAL_PCAN, snr_shift), 0, 63);
    result(c, in, NUC_I32, in->sizes[in->rank - 1]);
}

void nuc_shape_signal_log(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I32);

    within(c, NUC_ARG(SIGNAL_LOG, scale), 0, INT32_MAX);
    within(c, NUC_ARG(SIGNAL_LOG, correction_bits), 0, 31);
    result(c, in, NUC_I16, in->sizes[in->rank - 1]);
}

void nuc_shape_signal_features(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I16);
    const struct nuc_meta *window = nuc_shape_input(c, NUC_ARG(SIGNAL_FEATURES, window));
    const struct nuc_meta *table = nuc_shape_input(c, NUC_ARG(SIGNAL_FEATURES, table));
    const uint32_t cosines_at = NUC_ARG(SIGNAL_FEATURES, cosines);
    const struct nuc_meta *cosines = nuc_shape_is_none(c, cosines_at) ? NULL : nuc_shape_input(c, cosines_at);
    struct nuc_features p = {0};
    uint32_t count;
    const int64_t *numbers = nuc_shape_ints(c, NUC_ARG(SIGNAL_FEATURES, numbers), &count);

    if (!nuc_features_read(numbers, count, &p))
        nuc_shape_fail(c, "numbers are not those of a front end");
    const int64_t channels = weighted_channels(c, NUC_ARG(SIGNAL_FEATURES, bands), NUC_ARG(SIGNAL_FEATURES, weights));
    if (cosines != NULL && (cosines->dtype != NUC_I16 || cosines->rank != 2 || cosines->sizes[0] < 1 ||
                            cosines->sizes[1] != channels || p.log == NUC_FEATURE_LINEAR))
        nuc_shape_fail(c, "cosines are %s instead of int16 for each logarithm of a channel",
                       nuc_meta_text(c->g->cx, cosines));
    if (table->dtype != NUC_I32 || table->rank != 1 || (size_t)table->sizes[0] != nuc_rfft_table_numbers(p.length))
        nuc_shape_fail(c, "the table of the transform is %s", nuc_meta_text(c->g->cx, table));
    if (window->dtype != NUC_I32 || window->rank != 1)
        nuc_shape_fail(c, "the window is %s instead of a list of int32", nuc_meta_text(c->g->cx, window));
    p.window_size = (size_t)window->sizes[0];
    p.bank.channels = (size_t)channels;
    const size_t n_frames = nuc_features_frames(&p, (size_t)in->sizes[in->rank - 1]);
    if (p.window_size < 1 || p.window_size > p.length || n_frames < 1 || in->rank >= NUC_MAX_RANK)
        nuc_shape_fail(c, "%s has no frame of %zu samples in a transform of %zu", nuc_meta_text(c->g->cx, in),
                       p.window_size, p.length);
    struct nuc_meta m = *in;
    m.sizes[m.rank - 1] = (int64_t)n_frames;
    m.sizes[m.rank] = cosines != NULL ? cosines->sizes[0] : channels;
    const int64_t scratch = (int64_t)nuc_features_scratch(&p);
    nuc_shape_results(
        c, (struct nuc_meta[]){nuc_meta_make(NUC_F32, m.sizes, m.rank + 1u), nuc_meta_make(NUC_I32, &scratch, 1)}, 2);
}

void nuc_shape_signal_micro(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = frames(c, NUC_SELF, NUC_I16);
    const struct nuc_meta *noise = nuc_shape_input(c, NUC_ARG(SIGNAL_MICRO, noise));
    const struct nuc_meta *window = nuc_shape_input(c, NUC_ARG(SIGNAL_MICRO, window));
    struct nuc_micro p = {0};
    uint32_t count;
    const int64_t *numbers = nuc_shape_ints(c, NUC_ARG(SIGNAL_MICRO, numbers), &count);

    if (!nuc_micro_read(numbers, count, &p))
        nuc_shape_fail(c, "numbers are not those of a micro frontend");
    const int64_t channels = weighted_channels(c, NUC_ARG(SIGNAL_MICRO, bands), NUC_ARG(SIGNAL_MICRO, weights));
    if (noise->dtype != NUC_I32 || noise->rank != 1 || noise->sizes[0] != channels)
        nuc_shape_fail(c, "the noise is %s instead of int32[%lld]", nuc_meta_text(c->g->cx, noise),
                       (long long)channels);
    list(c, NUC_ARG(SIGNAL_MICRO, window), window->rank == 1 ? window->sizes[0] : -1);
    list(c, NUC_ARG(SIGNAL_MICRO, table), (int64_t)nuc_rfft_table_numbers(p.length));
    if (!nuc_shape_is_none(c, NUC_ARG(SIGNAL_MICRO, gains)))
        list(c, NUC_ARG(SIGNAL_MICRO, gains), NUC_PCAN_GAINS);
    p.window_size = (size_t)window->sizes[0];
    p.bank.channels = (size_t)channels;
    const int64_t made = (int64_t)nuc_micro_frames(&p, (size_t)in->sizes[in->rank - 1]);
    const int64_t sizes[3] = {1, made, channels}, scratch = (int64_t)nuc_micro_scratch(&p);
    if (in->rank != 2 || in->sizes[0] != 1 || made < 1 || p.window_size < 1 || p.window_size > p.length ||
        channels > window->sizes[0])
        nuc_shape_fail(c, "%s has no frame of %zu samples, of which a transform of %zu makes %lld channels",
                       nuc_meta_text(c->g->cx, in), p.window_size, p.length, (long long)channels);
    nuc_shape_results(c,
                      (struct nuc_meta[]){nuc_meta_make(NUC_F32, sizes, 3), nuc_meta_make(NUC_I32, &channels, 1),
                                          nuc_meta_make(NUC_I64, &scratch, 1)},
                      3);
}

/* ---- cameras ---- */

/* int32 [size, 2 + taps]: the size. */
static int64_t size_of_taps(const struct nuc_shape_call *c, uint32_t index)
{
    const struct nuc_meta *m = nuc_shape_input(c, index);

    if (m->dtype != NUC_I32 || m->rank != 2 || m->sizes[0] < 1 || m->sizes[1] < 3)
        nuc_shape_fail(c, "argument %u is %s instead of int32 of taps", (unsigned)index, nuc_meta_text(c->g->cx, m));
    return m->sizes[0];
}

void nuc_shape_prepare_frame(const struct nuc_shape_call *c)
{
    const struct nuc_arg *numbers = &c->node->args[NUC_ARG(PREPARE_FRAME, numbers)];
    const int64_t *n = numbers->u.ints, most = INT32_MAX;
    const struct nuc_meta *frame = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *table = nuc_shape_input(c, NUC_ARG(PREPARE_FRAME, table));

    if (numbers->count != 6 || n[0] < 0 || n[0] >= NUC_PIXELS_COUNT || n[1] < 0 || n[1] >= NUC_CHANNELS_COUNT ||
        n[2] < 1 || n[3] < 1 || n[2] > most / 4 / n[3] || n[4] < 3 || n[4] > 4 ||
        (n[5] != n[4] - 1 && n[5] != n[4] - 3))
        nuc_shape_fail(c, "numbers are not formats, sizes and dimensions");
    const int64_t bytes = (int64_t)nuc_frame_bytes((enum nuc_pixel_format)n[0], (size_t)n[2], (size_t)n[3]);
    const int64_t channels = n[1] == NUC_CHANNELS_GREY ? 1 : 3;
    if (frame->dtype != NUC_U8 || frame->rank != 1 || frame->sizes[0] != bytes)
        nuc_shape_fail(c, "the frame is %s instead of uint8[%lld]", nuc_meta_text(c->g->cx, frame), (long long)bytes);
    if ((table->dtype != NUC_I8 && table->dtype != NUC_F32) || table->rank != 2 || table->sizes[1] != 256 ||
        (table->sizes[0] != 1 && table->sizes[0] != channels))
        nuc_shape_fail(c, "the table is %s instead of one for each of %lld channels", nuc_meta_text(c->g->cx, table),
                       (long long)channels);
    int64_t sizes[4] = {1, 1, 1, 1};
    const int64_t rows = n[5] == n[4] - 1 ? n[4] - 3 : n[4] - 2;
    sizes[rows] = size_of_taps(c, NUC_ARG(PREPARE_FRAME, rows));
    sizes[rows + 1] = size_of_taps(c, NUC_ARG(PREPARE_FRAME, columns));
    sizes[n[5]] = channels;
    struct nuc_meta m = nuc_meta_make(table->dtype, sizes, (uint32_t)n[4]);
    /* The kernel writes either order: that which the node has been given for its reader stays. */
    nuc_order_as(&m, c->node->n_vals == 1 && nuc_is_channels_last(&c->node->vals[0]));
    nuc_shape_result(c, &m);
}
