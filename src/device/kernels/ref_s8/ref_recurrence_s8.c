/* Recurrent layers in int8. */
#include "device/kernels/ref/recurrence.h"

/* ---- sigmoid and tanh ---- */

enum { ONE = 1 << 15, STEPS = 512 };

/* 2^15 tanh(i / 64), rounded; what would be 2^15 is one less. */
static const int16_t table[STEPS + 1] = {
    0,     512,   1024,  1535,  2045,  2555,  3063,  3570,  4075,  4578,  5079,  5577,  6073,  6566,  7056,  7542,
    8025,  8505,  8980,  9452,  9919,  10382, 10840, 11294, 11743, 12186, 12625, 13058, 13486, 13909, 14326, 14737,
    15143, 15542, 15936, 16324, 16706, 17082, 17452, 17816, 18173, 18525, 18870, 19209, 19542, 19869, 20189, 20504,
    20813, 21115, 21411, 21702, 21986, 22265, 22538, 22804, 23066, 23321, 23571, 23815, 24054, 24287, 24516, 24738,
    24956, 25168, 25376, 25578, 25776, 25969, 26157, 26340, 26519, 26694, 26864, 27029, 27191, 27348, 27502, 27651,
    27797, 27938, 28076, 28211, 28341, 28469, 28592, 28713, 28830, 28944, 29055, 29163, 29268, 29370, 29470, 29566,
    29660, 29751, 29840, 29926, 30010, 30091, 30170, 30247, 30322, 30394, 30465, 30533, 30600, 30664, 30727, 30788,
    30847, 30904, 30960, 31014, 31067, 31118, 31167, 31215, 31262, 31307, 31351, 31394, 31435, 31476, 31515, 31553,
    31589, 31625, 31659, 31693, 31726, 31757, 31788, 31817, 31846, 31874, 31901, 31928, 31953, 31978, 32002, 32025,
    32048, 32070, 32091, 32112, 32132, 32151, 32170, 32188, 32206, 32223, 32240, 32256, 32271, 32287, 32301, 32316,
    32329, 32343, 32356, 32368, 32381, 32392, 32404, 32415, 32426, 32436, 32447, 32456, 32466, 32475, 32484, 32493,
    32501, 32509, 32517, 32525, 32532, 32540, 32547, 32553, 32560, 32566, 32573, 32579, 32584, 32590, 32596, 32601,
    32606, 32611, 32616, 32620, 32625, 32629, 32634, 32638, 32642, 32646, 32649, 32653, 32657, 32660, 32663, 32667,
    32670, 32673, 32676, 32678, 32681, 32684, 32686, 32689, 32691, 32694, 32696, 32698, 32700, 32702, 32704, 32706,
    32708, 32710, 32712, 32714, 32715, 32717, 32718, 32720, 32721, 32723, 32724, 32726, 32727, 32728, 32729, 32731,
    32732, 32733, 32734, 32735, 32736, 32737, 32738, 32739, 32740, 32741, 32741, 32742, 32743, 32744, 32745, 32745,
    32746, 32747, 32747, 32748, 32749, 32749, 32750, 32750, 32751, 32751, 32752, 32752, 32753, 32753, 32754, 32754,
    32755, 32755, 32755, 32756, 32756, 32757, 32757, 32757, 32758, 32758, 32758, 32759, 32759, 32759, 32759, 32760,
    32760, 32760, 32760, 32761, 32761, 32761, 32761, 32762, 32762, 32762, 32762, 32762, 32762, 32763, 32763, 32763,
    32763, 32763, 32763, 32764, 32764, 32764, 32764, 32764, 32764, 32764, 32764, 32765, 32765, 32765, 32765, 32765,
    32765, 32765, 32765, 32765, 32765, 32765, 32766, 32766, 32766, 32766, 32766, 32766, 32766, 32766, 32766, 32766,
    32766, 32766, 32766, 32766, 32766, 32766, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767,
    32767,
};

/* tanh of x / 2^bits in Q0.15, linear between the entries: within 1.3 of the last place. */
static int32_t tanh_q15(int32_t x, int bits)
{
    uint32_t size = x < 0 ? 0u - (uint32_t)x : (uint32_t)x, index = size >> (bits - 6);

    if (index >= STEPS)
        return x < 0 ? -table[STEPS] : table[STEPS];
    int32_t part = (int32_t)(size & ((1u << (bits - 6)) - 1));
    int32_t slope = table[index + 1] - table[index];
    int32_t value = table[index] + ((slope * part + (1 << (bits - 7))) >> (bits - 6));
    return x < 0 ? -value : value;
}

static int32_t tanh_of(int32_t x)
{
    return tanh_q15(x, 15);
}

/* 1/2 + tanh(x / 2) / 2, from 0 to 2^15. */
static int32_t sigmoid_of(int32_t x)
{
    return (ONE + tanh_q15(x, 16) + 1) >> 1;
}

/* ---- fixed point ---- */

/* v * multiplier / 2^31 * 2^shift, rounded once. */
static int64_t scaled(int32_t v, int32_t multiplier, int32_t shift)
{
    int right = 31 - shift;
    int64_t product = (int64_t)v * multiplier;

    /* The same in half the width: what lies below is not looked at. */
    if (right > 32)
        return ((int32_t)(product >> 32) + (1 << (right - 33))) >> (right - 32);
    return (product + ((int64_t)1 << (right - 1))) >> right;
}

/* v / 2^bits, rounded. */
static int64_t without_bits(int64_t v, int32_t bits)
{
    return bits == 0 ? v : (v + ((int64_t)1 << (bits - 1))) >> bits;
}

static int16_t as_state(int64_t v)
{
    return (int16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

static int8_t to_int8(const struct nuc_recurrence_scale *s, int32_t v)
{
    int64_t q = scaled(v, s->factor.multiplier, s->factor.shift) + s->zero_point;

    return nuc_saturate_i8(nuc_saturate_i32(q));
}

static int32_t from_int8(const struct nuc_recurrence_scale *s, int8_t q)
{
    return nuc_saturate_i32(scaled(q - s->zero_point, s->factor.multiplier, s->factor.shift));
}

/* v * 2^bits, saturated; 0 of a NaN. */
static int32_t from_real(float v, int32_t bits)
{
    float x = v * (float)(1 << bits);

    if (!(x > -0x1p31f))
        return x < 0 ? INT32_MIN : 0;
    return x < 0x1p31f ? (int32_t)(x < 0 ? x - 0.5f : x + 0.5f) : INT32_MAX;
}

static float to_real(int32_t v, int32_t bits)
{
    return (float)v / (float)(1 << bits);
}

/* ---- one step of one sample ---- */

struct step {
    const struct nuc_recurrence_dots *dots;
    const struct nuc_recurrence *r;
    const struct nuc_recurrence_s8 *p;
    const int8_t *x;
    const int16_t *h; /* the state before */
};

/* The products of all gates of one unit. */
struct sums {
    int32_t x[NUC_MOST_GATES], h[NUC_MOST_GATES];
};

static void multiply(const struct step *s, int32_t unit, struct sums *sums)
{
    const struct nuc_recurrence *r = s->r;
    int32_t gates = nuc_cell_gates(r->cell);
    ptrdiff_t inputs = r->inputs, hidden = r->hidden;

    s->dots->s8(s->p->x.weight + unit * inputs, hidden * inputs, gates, s->x, r->inputs, sums->x);
    s->dots->s16(s->p->h.weight + unit * hidden, hidden * hidden, gates, s->h, r->hidden, sums->h);
}

static int64_t finish_row(const struct nuc_recurrence_rows *w, int32_t row, int32_t sum)
{
    return scaled(sum, w->multiplier[row], w->shift[row]) + w->bias[row];
}

static int32_t gate_sum(const struct step *s, const struct sums *sums, int32_t gate, int32_t unit)
{
    int32_t row = gate * s->r->hidden + unit;

    return nuc_saturate_i32(finish_row(&s->p->x, row, sums->x[gate]) + finish_row(&s->p->h, row, sums->h[gate]));
}

static int16_t gru_unit(const struct step *s, const struct sums *sums, int32_t i)
{
    int32_t row = 2 * s->r->hidden + i;
    int32_t reset = sigmoid_of(gate_sum(s, sums, 0, i)), update = sigmoid_of(gate_sum(s, sums, 1, i));
    int64_t part = (int64_t)nuc_saturate_i32(finish_row(&s->p->h, row, sums->h[2])) * reset;
    int64_t candidate = finish_row(&s->p->x, row, sums->x[2]) + without_bits(part, 15);
    int64_t new = without_bits(tanh_of(nuc_saturate_i32(candidate)), 15 - s->p->fraction);

    return as_state(new + without_bits((s->h[i] - new) * update, 15));
}

static int16_t lstm_unit(const struct step *s, const struct sums *sums, int32_t i, int32_t *c)
{
    int32_t in = sigmoid_of(gate_sum(s, sums, 0, i)), forget = sigmoid_of(gate_sum(s, sums, 1, i));
    int32_t new = tanh_of(gate_sum(s, sums, 2, i)), shown = sigmoid_of(gate_sum(s, sums, 3, i));

    *c = nuc_saturate_i32(without_bits((int64_t)forget * *c + (int64_t)in * new, 15));
    return as_state(without_bits((int64_t)shown * tanh_of(*c), 30 - s->p->fraction));
}

static int16_t rnn_unit(const struct step *s, const struct sums *sums, int32_t i)
{
    int32_t sum = gate_sum(s, sums, 0, i);

    if (s->r->cell == NUC_CELL_TANH)
        sum = tanh_of(sum);
    else if (sum < 0)
        sum = 0;
    return as_state(without_bits(sum, 15 - s->p->fraction));
}

static void run_step(const struct step *s, int32_t *c, int16_t *next)
{
    for (int32_t i = 0; i < s->r->hidden; i++) {
        struct sums sums;
        multiply(s, i, &sums);
        if (s->r->cell == NUC_CELL_GRU)
            next[i] = gru_unit(s, &sums, i);
        else if (s->r->cell == NUC_CELL_LSTM)
            next[i] = lstm_unit(s, &sums, i, &c[i]);
        else
            next[i] = rnn_unit(s, &sums, i);
    }
}

/* ---- one sample ---- */

struct states {
    int16_t *h, *next;
    int32_t *c; /* NULL: there is none */
};

static int32_t initial(const float *real, const int8_t *q, const struct nuc_recurrence_scale *scale, ptrdiff_t at,
                       int32_t bits)
{
    if (real != NULL)
        return from_real(real[at], bits);
    return q == NULL ? 0 : from_int8(scale, q[at]);
}

static void begin(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, ptrdiff_t at,
                  const struct states *s)
{
    for (int32_t i = 0; i < r->hidden; i++) {
        s->h[i] = as_state(initial(p->real_h0, p->h0, &p->from_h0, at + i, p->fraction));
        if (s->c != NULL)
            s->c[i] = initial(p->real_c0, p->c0, &p->from_c0, at + i, 15);
    }
}

static void end(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, ptrdiff_t at, const struct states *s)
{
    for (int32_t i = 0; i < r->hidden; i++) {
        if (p->real_h_n != NULL)
            p->real_h_n[at + i] = to_real(s->h[i], p->fraction);
        else
            p->h_n[at + i] = to_int8(&p->to_h_n, s->h[i]);
        if (s->c != NULL && p->real_c_n != NULL)
            p->real_c_n[at + i] = to_real(s->c[i], 15);
        else if (s->c != NULL)
            p->c_n[at + i] = to_int8(&p->to_c_n, s->c[i]);
    }
}

void nuc_recurrence_s8_by(const struct nuc_recurrence_dots *dots, const struct nuc_recurrence *r,
                          const struct nuc_recurrence_s8 *p, const int8_t *in, int8_t *out)
{
    bool has_c = r->cell == NUC_CELL_LSTM;
    int16_t *h = (int16_t *)((int32_t *)p->scratch + (has_c ? r->hidden : 0));

    for (int32_t n = 0; n < r->batch; n++) {
        struct states s = {h, h + r->hidden, has_c ? p->scratch : NULL};
        begin(r, p, (ptrdiff_t)n * r->hidden, &s);
        for (int32_t i = 0; i < r->steps; i++) {
            int32_t t = r->backwards ? r->steps - 1 - i : i;
            int8_t *y = out + t * r->out_step + n * r->out_sample;
            struct step step = {dots, r, p, in + t * r->in_step + n * r->in_sample, s.h};
            run_step(&step, s.c, s.next);
            for (int32_t k = 0; k < r->hidden; k++)
                y[k] = to_int8(&p->to_out, s.next[k]);
            s = (struct states){s.next, s.h, s.c};
        }
        end(r, p, (ptrdiff_t)n * r->hidden, &s);
    }
}

/* ---- plain products ---- */

static void dot_s8(const int8_t *w, ptrdiff_t stride, int32_t rows, const int8_t *x, int32_t count, int32_t *sums)
{
    for (int32_t k = 0; k < rows; k++, w += stride) {
        sums[k] = 0;
        for (int32_t i = 0; i < count; i++)
            sums[k] = nuc_wrap_add(sums[k], w[i] * x[i]);
    }
}

static void dot_s16(const int8_t *w, ptrdiff_t stride, int32_t rows, const int16_t *h, int32_t count, int32_t *sums)
{
    for (int32_t k = 0; k < rows; k++, w += stride) {
        sums[k] = 0;
        for (int32_t i = 0; i < count; i++)
            sums[k] = nuc_wrap_add(sums[k], w[i] * h[i]);
    }
}

void nuc_ref_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int8_t *in,
                           int8_t *out)
{
    static const struct nuc_recurrence_dots dots = {dot_s8, dot_s16};

    nuc_recurrence_s8_by(&dots, r, p, in, out);
}
