/* Sound: spectra of windows, summed in bands that are equally wide to the ear, their logarithms, and cosines of these.
 */
#include <math.h>
#include <string.h>

#include "device/signal/features.h"
#include "front/sensor/sensor.h"
#include "ir/args.h"
#include "rewrite/insert.h"

#define PI 3.14159265358979323846

enum { MEL_HTK, MEL_SLANEY, MEL_LINEAR };
enum { HANN, HANN_SYMMETRIC, HAMMING, RECTANGLE };
enum { LOG_LN, LOG_10, LOG_DB, LOG_NONE };
enum { ORDER_FRAMES, ORDER_BANDS, ORDER_BY_SIZES };

struct audio {
    int64_t axes, rate, samples, window, hop, fft, bands, coefficients, pad, pad_both, frames;
    int mel, window_function, log, order;
    bool triangles_in_hz, equal_areas, center, reflect, all_cosines_alike, peak;
    int64_t power;
    double lowest, highest, floor, offset, mean, std, full_scale;
};

/* ---- the description ---- */

#define KEYS                                                                                                           \
    "rate", "samples", "window", "hop", "fft", "window_function", "center", "pad", "power", "bands", "lowest",         \
        "highest", "mel", "triangles", "norm", "log", "floor", "offset", "coefficients", "dct", "mean", "std",         \
        "order", "peak", "full_scale"

static const char *const audio_keys[] = {KEYS, NULL}, *const sensor_keys[] = {KEYS, "axes", "step", NULL};

/* Samples of a frame and of its transform. */
static void read_frames(const struct nuc_json *j, struct audio *a)
{
    static const char *const pads[] = {"reflect", "zeros", NULL};
    static const char *const windows[] = {"hann", "hann-symmetric", "hamming", "none", NULL};

    a->rate = nuc_front_end_int(j, "rate", 100, 1000000, 16000);
    a->window = nuc_front_end_int(j, "window", 2, NUC_RFFT_LONGEST, 480);
    a->hop = nuc_front_end_int(j, "hop", 1, INT16_MAX, a->window / 2);
    for (a->fft = NUC_RFFT_SHORTEST; a->fft < a->window;)
        a->fft *= 2;
    a->fft = nuc_front_end_int(j, "fft", a->fft, NUC_RFFT_LONGEST, a->fft);
    if ((a->fft & (a->fft - 1)) != 0) {
        const struct nuc_json fft = nuc_json_field(j, "fft");
        nuc_json_fail(&fft, NUC_UNSUPPORTED, "is %lld: powers of two are taken", (long long)a->fft);
    }
    a->window_function = nuc_json_word(j, "window_function", windows, HANN);
    a->center = nuc_front_end_flag(j, "center", false);
    a->reflect = nuc_json_word(j, "pad", pads, 0) == 0 && a->center;
    if (a->center) { /* frame i has its centre at i * hop */
        a->pad = a->fft / 2 - (a->fft - a->window) / 2;
        a->pad_both = a->window;
    }
    a->peak = nuc_front_end_flag(j, "peak", false);
    a->full_scale = nuc_front_end_real(j, "full_scale", 1e-3, 1e6, 1);
}

static void read_bands(const struct nuc_json *j, struct audio *a)
{
    static const char *const mels[] = {"htk", "slaney", "linear", NULL};
    static const char *const triangles[] = {"mel", "hz", NULL};
    static const char *const norms[] = {"none", "slaney", NULL};

    a->power = nuc_front_end_int(j, "power", 1, 2, 2);
    a->bands = nuc_front_end_int(j, "bands", 1, a->fft / 2, 40);
    a->lowest = nuc_front_end_real(j, "lowest", 0, (double)a->rate / 2, 0);
    a->highest = nuc_front_end_real(j, "highest", a->lowest, (double)a->rate / 2, (double)a->rate / 2);
    if (!(a->highest > a->lowest))
        nuc_json_fail(j, NUC_BAD_INPUT, "has no frequency between lowest and highest");
    a->mel = nuc_json_word(j, "mel", mels, a->mel);
    a->triangles_in_hz = nuc_json_word(j, "triangles", triangles, 0) == 1;
    a->equal_areas = nuc_json_word(j, "norm", norms, 0) == 1;
}

static void read_logarithms(const struct nuc_json *j, struct audio *a)
{
    static const char *const logs[] = {"ln", "log10", "db", "none", NULL};
    static const char *const cosines[] = {"ortho", "tf", NULL};
    static const char *const orders[] = {"frames", "bands", NULL};

    a->log = nuc_json_word(j, "log", logs, LOG_LN);
    a->offset = nuc_front_end_real(j, "offset", 0, 1e6, 0);
    a->floor = nuc_front_end_real(j, "floor", 0, 1e6, a->offset > 0 ? 0 : 1e-12);
    if (a->offset > 0 && a->floor > 0)
        nuc_json_fail(j, NUC_UNSUPPORTED, "has both offset and floor: give the one that the model was trained with");
    a->coefficients = nuc_front_end_int(j, "coefficients", 1, a->bands, 0);
    a->all_cosines_alike = nuc_json_word(j, "dct", cosines, 0) == 1;
    a->mean = nuc_front_end_real(j, "mean", -1e6, 1e6, 0);
    a->std = nuc_front_end_real(j, "std", 1e-6, 1e6, 1);
    a->order = nuc_json_word(j, "order", orders, ORDER_BY_SIZES);
    if ((a->coefficients > 0 || a->log == LOG_NONE) && (a->mean < 0 || a->mean > 0 || a->std < 1 || a->std > 1))
        nuc_json_fail(j, NUC_UNSUPPORTED, "has mean or std: they are for logarithms of bands");
    if (a->coefficients > 0 && a->log == LOG_NONE)
        nuc_json_fail(j, NUC_UNSUPPORTED, "has coefficients without logarithms");
}

static int64_t features_of(const struct audio *a)
{
    return a->coefficients > 0 ? a->coefficients : a->bands;
}

/* Whether the sizes of the model's input are those of the features, of which neighbours may have become one. */
static bool has_sizes(const struct nuc_front_end *f, const struct audio *a)
{
    const int64_t each = features_of(a), outer = a->axes * (a->order == ORDER_BANDS ? each : a->frames);
    int64_t product = 1;

    for (uint32_t d = 0; d < f->wanted.rank; d++) {
        product *= f->wanted.sizes[d];
        if (product != 1 && product != a->axes && product != outer && product != a->axes * a->frames * each)
            return false;
    }
    return product == a->axes * a->frames * each;
}

/* Where the description does not say the order, the sizes of the model's input do. */
static void read_order(const struct nuc_front_end *f, const struct nuc_json *j, struct audio *a)
{
    const int64_t elements = nuc_elements(&f->wanted) / a->axes, each = features_of(a);
    int64_t last = 1;

    for (uint32_t d = f->wanted.rank; d > 0 && last == 1; d--)
        last = f->wanted.sizes[d - 1];
    if (a->order == ORDER_BY_SIZES)
        a->order = last != each && elements % each == 0 && last * each == elements ? ORDER_BANDS : ORDER_FRAMES;
    a->frames = elements / each;
    const int64_t least = (a->frames - 1) * a->hop + a->window - a->pad_both;
    a->samples = nuc_front_end_int(j, "samples", 1, 1 << 24, least > 0 ? least : 1);
    const int64_t given = (a->samples + a->pad_both - a->window) / a->hop + 1;
    if (!has_sizes(f, a) || a->samples + a->pad_both < a->window || given != a->frames ||
        (a->reflect && a->samples <= a->pad_both))
        nuc_front_end_misfit(
            f, j,
            nuc_format(f->g->cx, "%lld frames of %lld features of %lld samples%s%s",
                       (long long)(a->samples + a->pad_both < a->window ? 0 : given), (long long)each,
                       (long long)a->samples, a->order == ORDER_BANDS ? ", features outermost" : "",
                       a->axes == 1 ? "" : nuc_format(f->g->cx, " of each of %lld axes", (long long)a->axes)));
}

/* ---- tables ---- */

static int16_t in_q15(double value)
{
    return (int16_t)floor(INT16_MAX * value + 0.5);
}

static struct nuc_node *add_i16(struct nuc_front_end *f, const char *name, const int16_t *values, int64_t rows,
                                int64_t columns)
{
    const int64_t sizes[2] = {rows, columns};
    const struct nuc_meta meta = nuc_meta_make(NUC_I16, sizes, 2);

    return nuc_add_constant(f->g, name, &meta, values);
}

static int32_t in_units(double value, double one)
{
    const double v = floor(value * one + 0.5);

    return v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

static struct nuc_node *window_of(struct nuc_front_end *f, const struct audio *a)
{
    const struct nuc_meta meta = nuc_meta_make(NUC_I32, &a->window, 1);
    int32_t *w = nuc_alloc_array(f->g->cx, (size_t)a->window, sizeof *w);
    const double end = (double)a->window - (a->window_function == HANN_SYMMETRIC ? 1 : 0);

    for (int64_t i = 0; i < a->window; i++) {
        const double share = a->window_function == RECTANGLE ? 0 : a->window_function == HAMMING ? 0.46 : 0.5;
        w[i] = in_units(1 - share - share * cos(2 * PI * (double)i / end), 2147483648.0);
    }
    return nuc_add_constant(f->g, "window", &meta, w);
}

static struct nuc_node *table_of(struct nuc_front_end *f, int64_t length)
{
    const int64_t count = (int64_t)nuc_rfft_table_numbers((size_t)length), n = length / 2, last = n / 2;
    const struct nuc_meta meta = nuc_meta_make(NUC_I32, &count, 1);
    int32_t *table = nuc_alloc_array(f->g->cx, (size_t)count, sizeof *table);

    for (int64_t i = 0; i < count / 2; i++) {
        const int64_t end = i - (count / 2 - last);
        const double angle = end < 0 ? 2 * PI * (double)i / (double)n : PI * ((double)(end + 1) / (double)n + 0.5);
        const double one = end < 0 ? 1073741824.0 : 2147483648.0;
        table[2 * i] = in_units(cos(angle), one);
        table[2 * i + 1] = in_units(sin(angle), one);
    }
    return nuc_add_constant(f->g, "cosines", &meta, table);
}

/* ---- bands ---- */

static double mel_of(const struct audio *a, double hz)
{
    if (a->mel == MEL_LINEAR)
        return hz;
    if (a->mel == MEL_HTK)
        return 1127 * log1p(hz / 700);
    return hz < 1000 ? hz * 3 / 200 : 15 + 27 * log(hz / 1000) / log(6.4);
}

static double hz_of(const struct audio *a, double mel)
{
    if (a->mel == MEL_LINEAR)
        return mel;
    if (a->mel == MEL_HTK)
        return 700 * expm1(mel / 1127);
    return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) / 27 * log(6.4));
}

struct bands {
    double *edges;  /* of bands + 2 corners, in the unit of the triangles */
    double *rising; /* by bin, of the triangle that begins in its band */
    double *falling;
    int64_t *band; /* by bin; -1: none */
    double most;   /* weight */
};

static void weigh_bins(struct nuc_context *cx, const struct audio *a, struct bands *b)
{
    const int64_t bins = a->fft / 2 + 1;
    const double low = mel_of(a, a->lowest), step = (mel_of(a, a->highest) - low) / (double)(a->bands + 1);
    double *areas = nuc_alloc_array(cx, (size_t)a->bands, sizeof *areas);

    b->edges = nuc_alloc_array(cx, (size_t)a->bands + 2, sizeof *b->edges);
    b->rising = nuc_alloc_array(cx, (size_t)bins, sizeof *b->rising);
    b->falling = nuc_alloc_array(cx, (size_t)bins, sizeof *b->falling);
    b->band = nuc_alloc_array(cx, (size_t)bins, sizeof *b->band);
    for (int64_t i = 0; i < a->bands + 2; i++)
        b->edges[i] = a->triangles_in_hz ? hz_of(a, low + step * (double)i) : low + step * (double)i;
    for (int64_t i = 0; i < a->bands; i++)
        areas[i] = a->equal_areas ? 2 / (hz_of(a, low + step * (double)(i + 2)) - hz_of(a, low + step * (double)i)) : 1;
    for (int64_t k = 0; k < bins; k++) {
        const double hz = (double)(k * a->rate) / (double)a->fft, at = a->triangles_in_hz ? hz : mel_of(a, hz);
        int64_t i = 0;
        while (i <= a->bands && at >= b->edges[i + 1])
            i++;
        b->band[k] = at < b->edges[0] || i > a->bands ? -1 : i;
        if (b->band[k] < 0)
            continue;
        const double share = (at - b->edges[i]) / (b->edges[i + 1] - b->edges[i]);
        b->rising[k] = i < a->bands ? share * areas[i] : 0;
        b->falling[k] = i > 0 ? (1 - share) * areas[i - 1] : 0;
        b->most = fmax(b->most, fmax(b->rising[k], b->falling[k]));
    }
}

/* The nodes of the weights, [falling, rising], and of the bands. */
static void bands_of(struct nuc_front_end *f, const struct nuc_json *j, const struct audio *a, struct bands *b,
                     struct nuc_node **weights, struct nuc_node **bands)
{
    const int64_t bins = a->fft / 2 + 1, rows = a->bands + 1;
    int16_t *w = nuc_alloc_array(f->g->cx, 2 * (size_t)bins, sizeof *w);
    int16_t *lists = nuc_alloc_array(f->g->cx, 3 * (size_t)rows, sizeof *lists);
    int64_t at = 0, first = 0;

    weigh_bins(f->g->cx, a, b);
    while (first < bins && b->band[first] < 0)
        first++;
    int64_t count = 0;
    while (first + count < bins && b->band[first + count] >= 0)
        count++;
    if (count == 0 || !(b->most > 0))
        nuc_json_fail(j, NUC_BAD_INPUT,
                      "has no bin of its transform of %lld between lowest and highest: give a higher highest",
                      (long long)a->fft);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t begin = at;
        for (; at < count && b->band[first + at] == row; at++) {
            w[at] = in_q15(b->falling[first + at] / b->most);
            w[count + at] = in_q15(b->rising[first + at] / b->most);
        }
        lists[row] = (int16_t)(first + begin);
        lists[rows + row] = (int16_t)begin;
        lists[2 * rows + row] = (int16_t)(at - begin);
    }
    *weights = add_i16(f, "weights", w, 2, count);
    *bands = add_i16(f, "bands", lists, 3, rows);
}

static struct nuc_node *cosines_of(struct nuc_front_end *f, const struct audio *a)
{
    int16_t *c = nuc_alloc_array(f->g->cx, (size_t)(a->coefficients * a->bands), sizeof *c);
    const double n = (double)a->bands;

    for (int64_t k = 0; k < a->coefficients; k++) {
        for (int64_t i = 0; i < a->bands; i++)
            c[k * a->bands + i] = in_q15(sqrt((k == 0 && !a->all_cosines_alike ? 1 : 2) / n) *
                                         cos(PI * (double)k * ((double)i + 0.5) / n));
    }
    return add_i16(f, "dct", c, a->coefficients, a->bands);
}

/* ---- the operator ---- */

static void set_numbers(const struct audio *a, double unit, int64_t *n)
{
    const double of_log[] = {[LOG_LN] = log(2), [LOG_10] = log10(2), [LOG_DB] = 20 * log10(2) / (double)a->power};
    const double least = a->offset > 0 ? a->offset : a->floor;
    int exponent = 0;

    n[NUC_FEATURE_HOP] = a->hop;
    n[NUC_FEATURE_LENGTH] = a->fft;
    n[NUC_FEATURE_PAD] = a->pad;
    n[NUC_FEATURE_PAD_BOTH] = a->pad_both;
    n[NUC_FEATURE_REFLECT] = a->reflect;
    n[NUC_FEATURE_POWER] = a->power;
    n[NUC_FEATURE_PEAK] = a->peak;
    if (a->log == LOG_NONE)
        return;
    n[NUC_FEATURE_LOG] = a->offset > 0 ? NUC_FEATURE_LOG_ADD : NUC_FEATURE_LOG_MAX;
    n[NUC_FEATURE_FLOOR] = in_units(frexp(least * unit, &exponent), 2147483648.0);
    n[NUC_FEATURE_FLOOR_SHIFT] = exponent - 31;
    n[NUC_FEATURE_MULTIPLIER] = in_units(of_log[a->log] / a->std, 268435456.0);
    n[NUC_FEATURE_OFFSET] = (int64_t)floor(65536 * (-log2(unit) - a->mean / of_log[a->log]) + 0.5);
}

/* Rows of an axis each, as the operator takes them; a table of a sensor has the axes in its columns. */
static struct nuc_node *rows_of(struct nuc_front_end *f, const struct audio *a)
{
    const int64_t table[3] = {1, a->samples, a->axes};
    const struct nuc_meta sound = nuc_meta_make(NUC_I16, table, 2), axes = nuc_meta_make(NUC_I16, table, 3);
    struct nuc_node *input = nuc_front_end_input(f, "samples", a->axes > 1 ? &axes : &sound);

    return a->axes > 1 ? nuc_insert_unary(f->g, f->before, NUC_OP_CONTIGUOUS,
                                          nuc_insert_permuted(f->g, f->before, input, (const int64_t[]){0, 2, 1}))
                       : input;
}

static struct nuc_node *build(struct nuc_front_end *f, const struct nuc_json *description, struct audio a)
{
    struct bands b = {0};
    struct nuc_node *weights, *bands;
    int64_t numbers[NUC_FEATURE_NUMBERS] = {0};
    struct nuc_features check;

    read_frames(description, &a);
    read_bands(description, &a);
    read_logarithms(description, &a);
    read_order(f, description, &a);
    struct nuc_node *samples = rows_of(f, &a);
    struct nuc_node *window = window_of(f, &a), *table = table_of(f, a.fft);
    bands_of(f, description, &a, &b, &weights, &bands);
    /*
     * A sum in integers, of a frame that is not shifted, is the real one times `unit`: the window and the weights are
     * in units of 2^-15, the spectrum is divided by the length, and squares by 2^12.
     */
    const double of_bin = 32768.0 * 32768.0 / ((double)a.fft * a.full_scale), of_weight = INT16_MAX / b.most;
    const double unit = a.power == 2 ? of_bin * of_bin / 4096 * of_weight : of_bin * of_weight;
    set_numbers(&a, unit, numbers);
    if (numbers[NUC_FEATURE_MULTIPLIER] == INT32_MAX || !nuc_features_read(numbers, NUC_FEATURE_NUMBERS, &check))
        nuc_json_fail(description, NUC_UNSUPPORTED, "has numbers of another size than 32 bits can express");
    const struct nuc_arg cosines =
        a.coefficients > 0 ? nuc_node_arg(cosines_of(f, &a)) : (struct nuc_arg){.kind = NUC_ARG_NONE};
    const struct nuc_arg factor = nuc_float_arg((double)(float)(1 / unit));
    struct nuc_node *features = nuc_emit(
        f->g, f->before, NUC_OP_SIGNAL_FEATURES, f->before,
        NUC_ARGS(samples, window, table, weights, bands, cosines, nuc_ints_arg(numbers, NUC_FEATURE_NUMBERS), factor));
    struct nuc_node *value = nuc_insert_getitem(f->g, f->before, features, 0);
    if (a.order != ORDER_BANDS)
        return value;
    return nuc_insert_permuted(f->g, f->before, value,
                               a.axes > 1 ? (const int64_t[]){0, 1, 3, 2} : (const int64_t[]){0, 2, 1});
}

struct nuc_node *nuc_build_audio(struct nuc_front_end *f, const struct nuc_json *description)
{
    nuc_json_only(description, audio_keys);
    return build(f, description, (struct audio){.axes = 1, .mel = MEL_HTK});
}

struct nuc_node *nuc_build_sensor(struct nuc_front_end *f, const struct nuc_json *description)
{
    nuc_json_only(description, sensor_keys);
    nuc_front_end_int(description, "step", 1, 1 << 24, 1); /* of recordings: data/recordings.c */
    return build(f, description,
                 (struct audio){.axes = nuc_front_end_int(description, "axes", 1, 64, 3), .mel = MEL_LINEAR});
}
