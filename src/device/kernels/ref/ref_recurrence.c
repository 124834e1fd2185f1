/* Recurrent layers in float32. The hidden state of a step is the output of the step before. */
#include "device/kernels/ref/recurrence.h"

static float dot(const float *x, const float *y, int32_t count)
{
    float sum = 0.0f;

    for (int32_t k = 0; k < count; k++)
        sum += x[k] * y[k];
    return sum;
}

/* One step of one sample. */
struct step {
    const struct nuc_recurrence *r;
    const struct nuc_recurrence_f32 *p;
    const float *x, *h; /* input and hidden state before */
};

/* Row j of the product with the input, and of that with the hidden state. */
static float from_x(const struct step *s, int32_t j)
{
    return dot(s->p->w_ih + (ptrdiff_t)j * s->r->inputs, s->x, s->r->inputs) + (s->p->b_ih != NULL ? s->p->b_ih[j] : 0);
}

static float from_h(const struct step *s, int32_t j)
{
    return dot(s->p->w_hh + (ptrdiff_t)j * s->r->hidden, s->h, s->r->hidden) + (s->p->b_hh != NULL ? s->p->b_hh[j] : 0);
}

static float gru_unit(const struct step *s, int32_t i)
{
    int32_t n = s->r->hidden;
    float reset = nuc_map_sigmoid.f32(from_x(s, i) + from_h(s, i));
    float update = nuc_map_sigmoid.f32(from_x(s, n + i) + from_h(s, n + i));
    float new = nuc_map_tanh.f32(from_x(s, 2 * n + i) + reset * from_h(s, 2 * n + i));

    return (s->h[i] - new) * update + new;
}

static float lstm_unit(const struct step *s, int32_t i, float *c)
{
    int32_t n = s->r->hidden;
    float in = nuc_map_sigmoid.f32(from_x(s, i) + from_h(s, i));
    float forget = nuc_map_sigmoid.f32(from_x(s, n + i) + from_h(s, n + i));
    float new = nuc_map_tanh.f32(from_x(s, 2 * n + i) + from_h(s, 2 * n + i));
    float shown = nuc_map_sigmoid.f32(from_x(s, 3 * n + i) + from_h(s, 3 * n + i));

    *c = forget * *c + in * new;
    return shown * nuc_map_tanh.f32(*c);
}

static void run_step(const struct step *s, float *c, float *out)
{
    for (int32_t i = 0; i < s->r->hidden; i++) {
        if (s->r->cell == NUC_CELL_GRU)
            out[i] = gru_unit(s, i);
        else if (s->r->cell == NUC_CELL_LSTM)
            out[i] = lstm_unit(s, i, &c[i]);
        else if (s->r->cell == NUC_CELL_TANH)
            out[i] = nuc_map_tanh.f32(from_x(s, i) + from_h(s, i));
        else
            out[i] = nuc_map_relu.f32(from_x(s, i) + from_h(s, i));
    }
}

static void copy(const float *from, float *to, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        to[i] = from[i];
}

void nuc_kernel_recurrence_f32(const struct nuc_recurrence *r, const struct nuc_recurrence_f32 *p, const float *in,
                               float *out)
{
    bool has_c = r->cell == NUC_CELL_LSTM;

    for (int32_t n = 0; n < r->batch; n++) {
        ptrdiff_t state = (ptrdiff_t)n * r->hidden;
        struct step s = {r, p, NULL, p->h0 + state};
        if (has_c)
            copy(p->c0 + state, p->c_n + state, r->hidden);
        for (int32_t i = 0; i < r->steps; i++) {
            int32_t t = r->backwards ? r->steps - 1 - i : i;
            float *y = out + t * r->out_step + n * r->out_sample;
            s.x = in + t * r->in_step + n * r->in_sample;
            run_step(&s, has_c ? p->c_n + state : NULL, y);
            s.h = y;
        }
        copy(s.h, p->h_n + state, r->hidden);
    }
}
