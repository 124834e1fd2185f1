/*
 * LiteRT's micro frontend, which micro_speech and microWakeWord are trained with. Its tables are those of
 * tflite-micro's Python, computed in float32 where that does.
 */
#include <math.h>
#include <string.h>

#include "algorithms/rfft_table.h"
#include "device/signal/micro.h"
#include "front/sensor/sensor.h"
#include "ir/args.h"
#include "rewrite/insert.h"

enum { WINDOW_BITS = 12, WEIGHT_BITS = 12, NOISE_BITS = 14, SNR_BITS = 12 };

struct micro {
    int64_t rate, samples, window, hop, length, bands, frames, smoothing_bits, gain_bits, log_bits, start, end;
    double lowest, highest, even, odd, remaining, strength, offset, factor;
    bool clamping, pcan;
};

static void read_description(const struct nuc_json *j, struct micro *m)
{
    static const char *const keys[] = {"rate",
                                       "samples",
                                       "window",
                                       "hop",
                                       "bands",
                                       "lowest",
                                       "highest",
                                       "smoothing_bits",
                                       "even_smoothing",
                                       "odd_smoothing",
                                       "min_signal_remaining",
                                       "clamping",
                                       "pcan",
                                       "strength",
                                       "offset",
                                       "gain_bits",
                                       "log_bits",
                                       "factor",
                                       NULL};

    nuc_json_only(j, keys);
    m->rate = nuc_front_end_int(j, "rate", 100, 192000, 16000); /* a window of 30 ms fits the longest transform */
    m->window = nuc_front_end_int(j, "window", 2, NUC_RFFT_LONGEST, 30 * m->rate / 1000);
    m->hop = nuc_front_end_int(j, "hop", 1, INT16_MAX, 20 * m->rate / 1000);
    for (m->length = NUC_RFFT_SHORTEST; m->length < m->window;)
        m->length *= 2;
    m->bands = nuc_front_end_int(j, "bands", 1, m->window < m->length / 2 ? m->window : m->length / 2, 40);
    m->lowest = nuc_front_end_real(j, "lowest", 0, (double)m->rate / 2, 125);
    m->highest = nuc_front_end_real(j, "highest", m->lowest, (double)m->rate / 2, 7500);
    m->smoothing_bits = nuc_front_end_int(j, "smoothing_bits", 0, 31, 10);
    m->even = nuc_front_end_real(j, "even_smoothing", 0, 1, 0.025);
    m->odd = nuc_front_end_real(j, "odd_smoothing", 0, 1, 0.06);
    m->remaining = nuc_front_end_real(j, "min_signal_remaining", 0, 1, 0.05);
    m->clamping = nuc_front_end_flag(j, "clamping", false);
    m->pcan = nuc_front_end_flag(j, "pcan", true);
    m->strength = nuc_front_end_real(j, "strength", 0, 4, 0.95);
    m->offset = nuc_front_end_real(j, "offset", 1e-3, 1e6, 80);
    m->gain_bits = nuc_front_end_int(j, "gain_bits", SNR_BITS, 31, 21);
    m->log_bits = nuc_front_end_int(j, "log_bits", 0, 15, 6);
    m->factor = nuc_front_end_real(j, "factor", 1e-9, 1e9, 10.0 / 256);
}

/* The sizes of the model's input are frames and bands, of which neighbours may have become one. */
static void read_frames(const struct nuc_front_end *f, const struct nuc_json *j, struct micro *m)
{
    const int64_t elements = nuc_elements(&f->wanted);
    int64_t product = 1;
    bool fits = elements % m->bands == 0;

    m->frames = elements / m->bands;
    const int64_t least = (m->frames - 1) * m->hop + m->window;
    m->samples = nuc_front_end_int(j, "samples", 1, 1 << 24, least > 0 ? least : 1);
    const int64_t given = m->samples < m->window ? 0 : (m->samples - m->window) / m->hop + 1;
    for (uint32_t d = 0; d < f->wanted.rank; d++) {
        product *= f->wanted.sizes[d];
        fits &= product == 1 || product == m->frames || product == elements;
    }
    if (!fits || given != m->frames)
        nuc_front_end_misfit(f, j,
                             nuc_format(f->g->cx, "%lld frames of %lld features of %lld samples", (long long)given,
                                        (long long)m->bands, (long long)m->samples));
}

static struct nuc_node *add_i16(struct nuc_front_end *f, const char *name, const int16_t *values, int64_t rows,
                                int64_t columns)
{
    const int64_t sizes[2] = {rows, columns};
    const struct nuc_meta meta = nuc_meta_make(NUC_I16, rows == 1 ? sizes + 1 : sizes, rows == 1 ? 1 : 2);

    return nuc_add_constant(f->g, name, &meta, values);
}

/* ---- bands ---- */

static float mel_of(double hz)
{
    return 1127.0F * (float)log1p((double)((float)hz / 700.0F));
}

/*
 * Band i ends at the centre of channel i; a bin adds to the channel whose centre is behind it what its distance leaves,
 * and to the one before the rest. Bin 0, which is no sound, belongs to none.
 */
static void bands_of(struct nuc_front_end *f, const struct nuc_json *j, struct micro *m, struct nuc_node **weights,
                     struct nuc_node **bands)
{
    const int64_t bins = m->length / 2 + 1, rows = m->bands + 1;
    const double hz = (double)m->rate / 2 / (double)(bins - 1);
    const float low = mel_of(m->lowest), step = (mel_of(m->highest) - low) / (float)rows;
    int16_t *w = nuc_alloc_array(f->g->cx, 2 * (size_t)bins, sizeof *w);
    int16_t *lists = nuc_alloc_array(f->g->cx, 3 * (size_t)rows, sizeof *lists);
    int64_t bin = lrint(1 + m->lowest / hz);
    int64_t count = 0;

    m->start = bin;
    for (int64_t row = 0; row < rows; row++) {
        const float centre = low + step * (float)(row + 1), before = row == 0 ? low : low + step * (float)row;
        lists[row] = (int16_t)bin;
        lists[rows + row] = (int16_t)count;
        for (; bin < bins && mel_of((double)bin * hz) <= centre; bin++, count++) {
            const float share = (centre - mel_of((double)bin * hz)) / (centre - before);
            w[count] = (int16_t)(share * (1 << WEIGHT_BITS));
            w[bins + count] = (int16_t)((1 - share) * (1 << WEIGHT_BITS));
        }
        lists[2 * rows + row] = (int16_t)(bin - lists[row]);
    }
    m->end = bin;
    if (count == 0 || m->end >= bins)
        nuc_json_fail(j, NUC_BAD_INPUT, "has %s of its transform between lowest and highest: give a %s highest",
                      count == 0 ? "no bin" : "the last bin", count == 0 ? "higher" : "lower");
    memmove(w + count, w + bins, (size_t)count * sizeof *w);
    *weights = add_i16(f, "weights", w, 2, count);
    *bands = add_i16(f, "bands", lists, 3, rows);
}

/* ---- gain control ---- */

static int32_t gain_of(const struct micro *m, int64_t input_bits, uint32_t noise)
{
    const float x = (float)noise / (float)((uint64_t)1 << input_bits);
    const float gain =
        (float)((uint32_t)1 << m->gain_bits) * (float)pow((double)(x + (float)m->offset), (double)-(float)m->strength);

    return gain > INT16_MAX ? INT16_MAX : (int32_t)(gain + 0.5F);
}

/* Of each octave the polynomial of degree 2 through its begin, its middle and its end. */
static struct nuc_node *gains_of(struct nuc_front_end *f, const struct micro *m, int64_t input_bits)
{
    int16_t *gains = nuc_alloc_array(f->g->cx, NUC_PCAN_GAINS, sizeof *gains);

    gains[0] = (int16_t)gain_of(m, input_bits, 0);
    gains[1] = (int16_t)gain_of(m, input_bits, 1);
    for (uint32_t octave = 2; octave <= 32; octave++) {
        const uint32_t begin = (uint32_t)1 << (octave - 1), end = octave == 32 ? begin + (begin - 1) : 2 * begin;
        const int32_t y = gain_of(m, input_bits, begin);
        const int32_t middle = gain_of(m, input_bits, begin + begin / 2) - y, last = gain_of(m, input_bits, end) - y;
        int16_t *g = gains + 4 * octave - 6;
        g[0] = (int16_t)y;
        g[1] = (int16_t)(4 * middle - last);
        g[2] = (int16_t)(last - (4 * middle - last));
    }
    return add_i16(f, "gains", gains, 1, NUC_PCAN_GAINS);
}

/* ---- the operator ---- */

struct nuc_node *nuc_build_micro(struct nuc_front_end *f, const struct nuc_json *description)
{
    struct micro m;
    struct nuc_node *weights, *bands;
    int64_t correction = -WEIGHT_BITS / 2;

    read_description(description, &m);
    read_frames(f, description, &m);
    for (int64_t length = m.length; length > 1; length /= 2)
        correction++;
    if (correction < 0 || m.smoothing_bits < correction || (m.pcan && m.gain_bits - correction < SNR_BITS))
        nuc_json_fail(description, NUC_UNSUPPORTED,
                      "has a transform of %lld: smoothing_bits %lld and gain_bits %lld are not for it",
                      (long long)m.length, (long long)m.smoothing_bits, (long long)m.gain_bits);
    bands_of(f, description, &m, &weights, &bands);
    const int64_t one = 1 << NOISE_BITS, even = (int64_t)(m.even * (double)one),
                  odd = m.odd > 0 ? (int64_t)(m.odd * (double)one) : even;
    const int64_t numbers[NUC_MICRO_NUMBERS] = {m.hop,
                                                m.length,
                                                WINDOW_BITS,
                                                m.start,
                                                m.end,
                                                even,
                                                odd,
                                                one - even,
                                                one - odd,
                                                (int64_t)(m.remaining * (double)one),
                                                m.smoothing_bits,
                                                NOISE_BITS,
                                                m.clamping,
                                                m.pcan ? m.gain_bits - correction - SNR_BITS : 0,
                                                (int64_t)1 << m.log_bits,
                                                correction};
    const int64_t sizes[2] = {1, m.samples}, table = (int64_t)nuc_rfft_table_numbers((size_t)m.length);
    const struct nuc_meta sound = nuc_meta_make(NUC_I16, sizes, 2), quiet = nuc_meta_make(NUC_I32, &m.bands, 1);
    const int32_t *zeros = nuc_alloc_array(f->g->cx, (size_t)m.bands, sizeof *zeros);
    struct nuc_node *input = nuc_front_end_input(f, "samples", &sound);
    const double pi = 3.14159265358979323846, step = 2 * pi / (double)m.window;
    int16_t *w = nuc_alloc_array(f->g->cx, (size_t)m.window, sizeof *w);
    for (int64_t i = 0; i < m.window; i++)
        w[i] = (int16_t)lround((0.5 - 0.5 * cos(step * ((double)i + 0.5))) * (1 << WINDOW_BITS));
    struct nuc_node *noise = nuc_add_constant(f->g, "noise", &quiet, zeros),
                    *window = add_i16(f, "window", w, 1, m.window);
    struct nuc_node *cosines = add_i16(f, "cosines", nuc_rfft_table_s16(f->g->cx, (size_t)m.length), 1, table);
    const struct nuc_arg gains =
        m.pcan ? nuc_node_arg(gains_of(f, &m, m.smoothing_bits - correction)) : (struct nuc_arg){.kind = NUC_ARG_NONE};
    struct nuc_node *made = nuc_emit(f->g, f->before, NUC_OP_SIGNAL_MICRO, f->before,
                                     NUC_ARGS(input, noise, window, cosines, weights, bands, gains,
                                              nuc_ints_arg(numbers, NUC_MICRO_NUMBERS), (double)(float)m.factor));

    return nuc_insert_getitem(f->g, f->before, made, 0);
}
