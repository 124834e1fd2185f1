/* Recurrent layers in int8. */
#include "device/kernels/ref/recurrence.h"

/* ---- sigmoid and tanh ---- */

enum { ONE = 1 << 15, STEPS = 512 };

/* 2^15 tanh(i / 64 - 8), rounded; what would be 2^15 in size is one less. */
static const int16_t table[2 * STEPS + 1] = {
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767, -32767,
    -32767, -32767, -32767, -32766, -32766, -32766, -32766, -32766, -32766, -32766, -32766, -32766, -32766, -32766,
    -32766, -32766, -32766, -32766, -32766, -32765, -32765, -32765, -32765, -32765, -32765, -32765, -32765, -32765,
    -32765, -32765, -32764, -32764, -32764, -32764, -32764, -32764, -32764, -32764, -32763, -32763, -32763, -32763,
    -32763, -32763, -32762, -32762, -32762, -32762, -32762, -32762, -32761, -32761, -32761, -32761, -32760, -32760,
    -32760, -32760, -32759, -32759, -32759, -32759, -32758, -32758, -32758, -32757, -32757, -32757, -32756, -32756,
    -32755, -32755, -32755, -32754, -32754, -32753, -32753, -32752, -32752, -32751, -32751, -32750, -32750, -32749,
    -32749, -32748, -32747, -32747, -32746, -32745, -32745, -32744, -32743, -32742, -32741, -32741, -32740, -32739,
    -32738, -32737, -32736, -32735, -32734, -32733, -32732, -32731, -32729, -32728, -32727, -32726, -32724, -32723,
    -32721, -32720, -32718, -32717, -32715, -32714, -32712, -32710, -32708, -32706, -32704, -32702, -32700, -32698,
    -32696, -32694, -32691, -32689, -32686, -32684, -32681, -32678, -32676, -32673, -32670, -32667, -32663, -32660,
    -32657, -32653, -32649, -32646, -32642, -32638, -32634, -32629, -32625, -32620, -32616, -32611, -32606, -32601,
    -32596, -32590, -32584, -32579, -32573, -32566, -32560, -32553, -32547, -32540, -32532, -32525, -32517, -32509,
    -32501, -32493, -32484, -32475, -32466, -32456, -32447, -32436, -32426, -32415, -32404, -32392, -32381, -32368,
    -32356, -32343, -32329, -32316, -32301, -32287, -32271, -32256, -32240, -32223, -32206, -32188, -32170, -32151,
    -32132, -32112, -32091, -32070, -32048, -32025, -32002, -31978, -31953, -31928, -31901, -31874, -31846, -31817,
    -31788, -31757, -31726, -31693, -31659, -31625, -31589, -31553, -31515, -31476, -31435, -31394, -31351, -31307,
    -31262, -31215, -31167, -31118, -31067, -31014, -30960, -30904, -30847, -30788, -30727, -30664, -30600, -30533,
    -30465, -30394, -30322, -30247, -30170, -30091, -30010, -29926, -29840, -29751, -29660, -29566, -29470, -29370,
    -29268, -29163, -29055, -28944, -28830, -28713, -28592, -28469, -28341, -28211, -28076, -27938, -27797, -27651,
    -27502, -27348, -27191, -27029, -26864, -26694, -26519, -26340, -26157, -25969, -25776, -25578, -25376, -25168,
    -24956, -24738, -24516, -24287, -24054, -23815, -23571, -23321, -23066, -22804, -22538, -22265, -21986, -21702,
    -21411, -21115, -20813, -20504, -20189, -19869, -19542, -19209, -18870, -18525, -18173, -17816, -17452, -17082,
    -16706, -16324, -15936, -15542, -15143, -14737, -14326, -13909, -13486, -13058, -12625, -12186, -11743, -11294,
    -10840, -10382, -9919,  -9452,  -8980,  -8505,  -8025,  -7542,  -7056,  -6566,  -6073,  -5577,  -5079,  -4578,
    -4075,  -3570,  -3063,  -2555,  -2045,  -1535,  -1024,  -512,   0,      512,    1024,   1535,   2045,   2555,
    3063,   3570,   4075,   4578,   5079,   5577,   6073,   6566,   7056,   7542,   8025,   8505,   8980,   9452,
    9919,   10382,  10840,  11294,  11743,  12186,  12625,  13058,  13486,  13909,  14326,  14737,  15143,  15542,
    15936,  16324,  16706,  17082,  17452,  17816,  18173,  18525,  18870,  19209,  19542,  19869,  20189,  20504,
    20813,  21115,  21411,  21702,  21986,  22265,  22538,  22804,  23066,  23321,  23571,  23815,  24054,  24287,
    24516,  24738,  24956,  25168,  25376,  25578,  25776,  25969,  26157,  26340,  26519,  26694,  26864,  27029,
    27191,  27348,  27502,  27651,  27797,  27938,  28076,  28211,  28341,  28469,  28592,  28713,  28830,  28944,
    29055,  29163,  29268,  29370,  29470,  29566,  29660,  29751,  29840,  29926,  30010,  30091,  30170,  30247,
    30322,  30394,  30465,  30533,  30600,  30664,  30727,  30788,  30847,  30904,  30960,  31014,  31067,  31118,
    31167,  31215,  31262,  31307,  31351,  31394,  31435,  31476,  31515,  31553,  31589,  31625,  31659,  31693,
    31726,  31757,  31788,  31817,  31846,  31874,  31901,  31928,  31953,  31978,  32002,  32025,  32048,  32070,
    32091,  32112,  32132,  32151,  32170,  32188,  32206,  32223,  32240,  32256,  32271,  32287,  32301,  32316,
    32329,  32343,  32356,  32368,  32381,  32392,  32404,  32415,  32426,  32436,  32447,  32456,  32466,  32475,
    32484,  32493,  32501,  32509,  32517,  32525,  32532,  32540,  32547,  32553,  32560,  32566,  32573,  32579,
    32584,  32590,  32596,  32601,  32606,  32611,  32616,  32620,  32625,  32629,  32634,  32638,  32642,  32646,
    32649,  32653,  32657,  32660,  32663,  32667,  32670,  32673,  32676,  32678,  32681,  32684,  32686,  32689,
    32691,  32694,  32696,  32698,  32700,  32702,  32704,  32706,  32708,  32710,  32712,  32714,  32715,  32717,
    32718,  32720,  32721,  32723,  32724,  32726,  32727,  32728,  32729,  32731,  32732,  32733,  32734,  32735,
    32736,  32737,  32738,  32739,  32740,  32741,  32741,  32742,  32743,  32744,  32745,  32745,  32746,  32747,
    32747,  32748,  32749,  32749,  32750,  32750,  32751,  32751,  32752,  32752,  32753,  32753,  32754,  32754,
    32755,  32755,  32755,  32756,  32756,  32757,  32757,  32757,  32758,  32758,  32758,  32759,  32759,  32759,
    32759,  32760,  32760,  32760,  32760,  32761,  32761,  32761,  32761,  32762,  32762,  32762,  32762,  32762,
    32762,  32763,  32763,  32763,  32763,  32763,  32763,  32764,  32764,  32764,  32764,  32764,  32764,  32764,
    32764,  32765,  32765,  32765,  32765,  32765,  32765,  32765,  32765,  32765,  32765,  32765,  32766,  32766,
    32766,  32766,  32766,  32766,  32766,  32766,  32766,  32766,  32766,  32766,  32766,  32766,  32766,  32766,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,  32767,
    32767,  32767,  32767,
};

/* tanh of within / 2^bits, less than 8 in size, in Q0.15, linear between the entries: within 1.3 of the last place. */
static inline int32_t tanh_within(int32_t within, int bits)
{
    int32_t part = within & ((1 << (bits - 6)) - 1);
    const int16_t *at = table + STEPS + (within >> (bits - 6));

    return at[0] + (((at[1] - at[0]) * part + (1 << (bits - 7))) >> (bits - 6));
}

static inline int32_t tanh_of(int32_t x)
{
    return tanh_within(NUC_SATURATE(x, 19), 15);
}

/* 1/2 + tanh(x / 2) / 2, from 0 to 2^15. */
static inline int32_t sigmoid_of(int32_t x)
{
    return (ONE + tanh_within(NUC_SATURATE(x, 20), 16) + 1) >> 1;
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

/* The same of at most 2^30 in size. */
static inline int32_t rounded(int32_t v, int32_t bits)
{
    return (v + ((1 << bits) >> 1)) >> bits;
}

static int16_t as_state(int32_t v)
{
    return (int16_t)NUC_SATURATE(v, 16);
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

/* 2^e, e in [-126, 127] */
static inline float power_of_2(int32_t e)
{
    uint32_t bits = (uint32_t)(e + 127) << 23;
    float power;

    __builtin_memcpy(&power, &bits, sizeof power);
    return power;
}

static inline float to_real(int32_t v, int32_t bits)
{
    return (float)v * power_of_2(-bits);
}

/* ---- one step of one sample: some units at a time ---- */

struct step {
    nuc_recurrence_rows_fn *multiply;
    const struct nuc_recurrence *r;
    const struct nuc_recurrence_s8 *p;
    const int16_t *x, *h; /* the input, the state before */
    int32_t right;        /* of products with x */
};

/* Of a gate of some units. */
typedef int32_t sums_of_gate[NUC_ROWS_AT_ONCE];

/* Units `first` to `end`; sums and `apart` begin with the first one. */
static void gru_units(const struct step *s, sums_of_gate *sums, const int32_t *apart, int32_t first, int32_t end,
                      int16_t *next)
{
    const int32_t columns = s->p->h.columns, bits = 15 - s->p->fraction;

    for (int32_t i = first, k = 0; i < end; i++, k++) {
        int32_t place = nuc_recurrence_place(i, columns), reset = sigmoid_of(sums[0][k]);
        int32_t part = (int32_t)without_bits((int64_t)apart[k] * reset, 15);
        int32_t new = rounded(tanh_of(nuc_wrap_add(sums[2][k], part)), bits);
        next[place] = as_state(new + (int32_t)without_bits((int64_t)(s->h[place] - new) * sigmoid_of(sums[1][k]), 15));
    }
}

/* Such that the next one fits 32 bits, too. */
static inline int32_t as_cell(int32_t v)
{
    return NUC_SATURATE(v, 31);
}

static void lstm_units(const struct step *s, sums_of_gate *sums, int32_t first, int32_t end, int32_t *c, int16_t *next)
{
    const int32_t columns = s->p->h.columns, bits = 30 - s->p->fraction;

    for (int32_t i = first, k = 0; i < end; i++, k++) {
        int32_t in = sigmoid_of(sums[0][k]), forget = sigmoid_of(sums[1][k]), new = tanh_of(sums[2][k]);
        int32_t cell = as_cell((int32_t)without_bits((int64_t)forget * c[i] + in * new, 15));
        c[i] = cell;
        next[nuc_recurrence_place(i, columns)] = as_state(rounded(sigmoid_of(sums[3][k]) * tanh_of(cell), bits));
    }
}

static void rnn_units(const struct step *s, const int32_t *sums, int32_t first, int32_t end, int16_t *next)
{
    const int32_t columns = s->p->h.columns, bits = 15 - s->p->fraction;
    const bool bounded = s->r->cell == NUC_CELL_TANH;

    for (int32_t i = first, k = 0; i < end; i++, k++) {
        int32_t sum = sums[k], place = nuc_recurrence_place(i, columns);
        next[place] = as_state(bounded   ? rounded(tanh_of(sum), bits)
                               : sum < 0 ? 0
                                         : nuc_saturate_i32(without_bits(sum, bits)));
    }
}

static void run_step(const struct step *s, int32_t *c, int16_t *next)
{
    int32_t hidden = s->r->hidden;

    for (int32_t i = 0; i < hidden; i += NUC_ROWS_AT_ONCE) {
        int32_t count = hidden - i < NUC_ROWS_AT_ONCE ? hidden - i : NUC_ROWS_AT_ONCE;
        sums_of_gate sums[NUC_MOST_GATES], apart;
        for (int32_t gate = 0; gate < nuc_cell_gates(s->r->cell); gate++)
            s->multiply(s->p, gate * hidden + i, count, s->x, s->right, s->h, sums[gate],
                        s->r->cell == NUC_CELL_GRU && gate == 2 ? apart : NULL);
        if (s->r->cell == NUC_CELL_GRU)
            gru_units(s, sums, apart, i, i + count, next);
        else if (s->r->cell == NUC_CELL_LSTM)
            lstm_units(s, sums, i, i + count, c, next);
        else
            rnn_units(s, sums[0], i, i + count, next);
    }
}

/* ---- what comes in and goes out ---- */

/* The least e for which all values are below 2^e in size, within `most` - 31 to `most`. */
static int32_t exponent_of(const float *x, int32_t count, int32_t most)
{
    uint32_t largest = 0;

    for (int32_t i = 0; i < count; i++) {
        uint32_t bits;
        __builtin_memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7FFFFFFF;
        largest = bits > largest ? bits : largest;
    }
    int32_t e = (int32_t)(largest >> 23) - 126;
    return e > most ? most : e < most - 31 ? most - 31 : e;
}

/* Returns `right` of the products. */
static int32_t read_input(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const void *in,
                          ptrdiff_t at, int16_t *x)
{
    if (!p->real_in) {
        const int8_t *q = (const int8_t *)in + at;
        for (int32_t i = 0; i < r->inputs; i++)
            x[nuc_recurrence_place(i, p->x.columns)] = q[i];
        return 0;
    }
    const float *real = (const float *)in + at;
    int32_t e = exponent_of(real, r->inputs, p->exponent);
    float steps = power_of_2(p->input_bits - e);
    for (int32_t i = 0; i < r->inputs; i++)
        x[nuc_recurrence_place(i, p->x.columns)] = as_state(nuc_nearest_int(real[i] * steps, 0));
    return p->exponent - e;
}

/* The hidden states as int8, for a multiplier below a half: the same as to_int8(). */
static void write_scaled(const int16_t *h, int32_t count, int32_t columns, const struct nuc_recurrence_scale *s,
                         int8_t *out)
{
    int32_t multiplier = s->factor.multiplier, right = -1 - s->factor.shift, half = 1 << (right - 1);
    int32_t zero = s->zero_point;

    for (int32_t k = 0; k < count; k++) {
        int32_t high = (int32_t)((int64_t)h[nuc_recurrence_place(k, columns)] * multiplier >> 32);
        out[k] = nuc_saturate_i8(((high + half) >> right) + zero);
    }
}

static void write_output(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int16_t *h, void *out,
                         ptrdiff_t at)
{
    if (p->to_out.factor.multiplier > 0 && p->to_out.factor.shift < -1) {
        write_scaled(h, r->hidden, p->h.columns, &p->to_out, (int8_t *)out + at);
        return;
    }
    if (p->to_out.factor.multiplier == 0) {
        const float step = power_of_2(-p->fraction);
        for (int32_t k = 0; k < r->hidden; k++)
            ((float *)out)[at + k] = (float)h[nuc_recurrence_place(k, p->h.columns)] * step;
        return;
    }
    for (int32_t k = 0; k < r->hidden; k++)
        ((int8_t *)out)[at + k] = to_int8(&p->to_out, h[nuc_recurrence_place(k, p->h.columns)]);
}

static int32_t initial(const float *real, const int8_t *q, const struct nuc_recurrence_scale *scale, ptrdiff_t at,
                       int32_t bits)
{
    if (real != NULL)
        return from_real(real[at], bits);
    return q == NULL ? 0 : from_int8(scale, q[at]);
}

static void begin(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, ptrdiff_t at, int16_t *h,
                  int32_t *c)
{
    for (int32_t i = 0; i < r->hidden; i++) {
        h[nuc_recurrence_place(i, p->h.columns)] =
            as_state(initial(p->real_h0, p->h0, &p->from_h0, at + i, p->fraction));
        if (c != NULL)
            c[i] = as_cell(initial(p->real_c0, p->c0, &p->from_c0, at + i, 15));
    }
}

static void end(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, ptrdiff_t at, const int16_t *h,
                const int32_t *c)
{
    for (int32_t i = 0; i < r->hidden; i++) {
        int32_t state = h[nuc_recurrence_place(i, p->h.columns)];
        if (p->real_h_n != NULL)
            p->real_h_n[at + i] = to_real(state, p->fraction);
        else
            p->h_n[at + i] = to_int8(&p->to_h_n, state);
        if (c != NULL && p->real_c_n != NULL)
            p->real_c_n[at + i] = to_real(c[i], 15);
        else if (c != NULL)
            p->c_n[at + i] = to_int8(&p->to_c_n, c[i]);
    }
}

static void clear_padding(int16_t *values, int32_t count, int32_t columns)
{
    for (int32_t i = count; i < columns; i++)
        values[nuc_recurrence_place(i, columns)] = 0;
}

/* Scratch: c, x and both states. */
void nuc_recurrence_s8_by(nuc_recurrence_rows_fn *multiply, const struct nuc_recurrence *r,
                          const struct nuc_recurrence_s8 *p, const void *in, void *out)
{
    bool has_c = r->cell == NUC_CELL_LSTM;
    int16_t *x = (int16_t *)((int32_t *)p->scratch + (has_c ? r->hidden : 0));
    int16_t *h = x + nuc_recurrence_padded(r->inputs), *next = h + nuc_recurrence_padded(r->hidden);
    int32_t *c = has_c ? p->scratch : NULL;

    clear_padding(x, r->inputs, p->x.columns);
    clear_padding(h, r->hidden, p->h.columns);
    clear_padding(next, r->hidden, p->h.columns);
    for (int32_t n = 0; n < r->batch; n++) {
        begin(r, p, (ptrdiff_t)n * r->hidden, h, c);
        for (int32_t i = 0; i < r->steps; i++) {
            int32_t t = r->backwards ? r->steps - 1 - i : i;
            int32_t right = read_input(r, p, in, t * r->in_step + n * r->in_sample, x);
            struct step step = {multiply, r, p, x, h, right};
            run_step(&step, c, next);
            write_output(r, p, next, out, t * r->out_step + n * r->out_sample);
            int16_t *before = h;
            h = next;
            next = before;
        }
        end(r, p, (ptrdiff_t)n * r->hidden, h, c);
    }
}

/* ---- plain products ---- */

static int32_t dot(const int8_t *w, const int16_t *values, int32_t count)
{
    int32_t sum = 0, i = 0;

    for (; i + 4 <= count; i += 4, w += 4, values += 4)
        sum = nuc_wrap_add(sum, nuc_wrap_add(w[0] * values[0] + w[1] * values[2], w[2] * values[1] + w[3] * values[3]));
    for (; i < count; i++)
        sum = nuc_wrap_add(sum, *w++ * *values++);
    return sum;
}

static int32_t product(const struct nuc_recurrence_rows *rows, int32_t row, const int16_t *values)
{
    int32_t sum = dot(rows->weight + (ptrdiff_t)row * rows->columns, values, rows->columns);

    return (int32_t)((uint32_t)sum << rows->left);
}

static int32_t add_scaled(int32_t product, int32_t multiplier, int32_t to)
{
    return nuc_wrap_add(to, (int32_t)(((int64_t)product * multiplier + ((int64_t)1 << 31)) >> 32));
}

static void multiply_rows(const struct nuc_recurrence_s8 *p, int32_t first, int32_t count, const int16_t *x,
                          int32_t right, const int16_t *h, int32_t *sums, int32_t *apart)
{
    const struct nuc_recurrence_row *row = p->rows + first;

    for (int32_t k = 0; k < count; k++, row++) {
        int32_t of_h = product(&p->h, first + k, h);
        sums[k] = add_scaled(product(&p->x, first + k, x) >> right, row->x_multiplier, row->x_bias);
        if (apart != NULL)
            apart[k] = add_scaled(of_h, row->h_multiplier, row->h_bias);
        else
            sums[k] = add_scaled(of_h, row->h_multiplier, sums[k]);
    }
}

void nuc_ref_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const void *in, void *out)
{
    nuc_recurrence_s8_by(multiply_rows, r, p, in, out);
}
