/* Front ends for sound. The last dimension is a frame, the others count frames. */
#include "device/runtime/operators/op_shapes.h"
#include "device/signal/features.h"
#include "device/signal/micro.h"

static size_t frame_of(const struct nuc_tensor *t)
{
    return t->rank == 0 ? 1 : (size_t)t->sizes[t->rank - 1];
}

/* Whether out has as many frames as the input, of `size` values each. */
static bool fits(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out, size_t size)
{
    return nuc_need(cx,
                    frame_of(out) == size && nuc_tensor_elements(out) / size == nuc_tensor_elements(in) / frame_of(in),
                    NUC_TEXT("argument 'out' has not the frames of 'input'"));
}

enum nuc_status nuc_op_signal_window(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_window *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *window = &a->window->u.tensor;
    const size_t size = frame_of(in), count = nuc_tensor_elements(in);

    if (!nuc_need(cx, nuc_tensor_elements(window) == size, NUC_TEXT("argument 'window' has not the size of a frame")))
        return NUC_UNSUPPORTED;
    for (size_t at = 0; at < count; at += size)
        nuc_signal_window_s16((const int16_t *)in->data + at, window->data, size, nuc_int32(a->shift),
                              (int16_t *)a->out->u.tensor.data + at);
    return NUC_OK;
}

enum nuc_status nuc_op_signal_auto_scale(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_auto_scale *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *bits = &a->scale_bits->u.tensor;

    if (!nuc_need(cx, nuc_tensor_elements(bits) == 1, NUC_TEXT("argument 'scale_bits' is not one number")))
        return NUC_UNSUPPORTED;
    *(int32_t *)bits->data = nuc_signal_auto_scale_s16(in->data, nuc_tensor_elements(in), a->out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_signal_rfft(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_rfft *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *table = &a->table->u.tensor, *out = &a->out->u.tensor;
    const size_t size = frame_of(in), length = (size_t)a->length->u.i;

    if (!nuc_need(cx, length >= NUC_RFFT_SHORTEST && length <= NUC_RFFT_LONGEST && (length & (length - 1)) == 0,
                  NUC_TEXT("argument 'length' is no power of two from 4 to 8192")) ||
        !nuc_need(cx, nuc_tensor_elements(table) == nuc_rfft_table_numbers(length),
                  NUC_TEXT("argument 'table' is not that of this length")) ||
        !fits(cx, in, out, length + 2))
        return NUC_UNSUPPORTED;
    for (size_t i = 0; i < nuc_tensor_elements(in) / size; i++)
        nuc_signal_rfft_s16((const int16_t *)in->data + i * size, size, length, table->data,
                            (int16_t *)out->data + i * (length + 2));
    return NUC_OK;
}

enum nuc_status nuc_op_signal_energy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_energy *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    const size_t bins = frame_of(in) / 2;

    if (!nuc_need(cx, bins > 0 && frame_of(in) % 2 == 0, NUC_TEXT("argument 'input' has no pairs")) ||
        !fits(cx, in, out, bins))
        return NUC_UNSUPPORTED;
    for (size_t at = 0; at < nuc_tensor_elements(out); at += bins)
        nuc_signal_energy((const int16_t *)in->data + 2 * at, bins, (size_t)a->start->u.i, (size_t)a->end->u.i,
                          (uint32_t *)out->data + at);
    return NUC_OK;
}

enum nuc_status nuc_op_signal_filter_bank(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_filter_bank *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor, *bands = &a->bands->u.tensor;
    const struct nuc_tensor *weights = &a->weights->u.tensor, *unweights = &a->unweights->u.tensor;
    const size_t bins = frame_of(in), size = frame_of(bands), n_weights = nuc_tensor_elements(weights);
    const int16_t *rows = bands->data;
    const struct nuc_filter_bank p = {size - 1, rows, rows + size, rows + 2 * size, weights->data, unweights->data};

    if (!nuc_need(cx, bands->sizes[0] == 3 && size >= 2, NUC_TEXT("argument 'bands' is not three rows")) ||
        !nuc_need(cx, nuc_tensor_elements(unweights) == n_weights && nuc_filter_bank_fits(&p, bins, n_weights),
                  NUC_TEXT("a band lies outside the input or the weights")) ||
        !fits(cx, in, out, p.channels))
        return NUC_UNSUPPORTED;
    for (size_t i = 0; i < nuc_tensor_elements(in) / bins; i++)
        nuc_signal_filter_bank(&p, (const uint32_t *)in->data + i * bins, (uint64_t *)out->data + i * p.channels);
    return NUC_OK;
}

enum nuc_status nuc_op_signal_square_root(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_square_root *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;

    (void)cx;
    nuc_signal_filter_bank_root(in->data, nuc_tensor_elements(in), *(const int32_t *)a->scale_bits->u.tensor.data,
                                a->out->u.tensor.data);
    return NUC_OK;
}

/* A list of integers; false: it has another length. */
static bool read_list(struct nuc_kernel_context *cx, const struct nuc_value *list, int64_t *n, uint32_t count)
{
    for (uint32_t i = 0; list->u.list.count == count && i < count; i++)
        n[i] = nuc_list_int(cx, list, i);
    return list->u.list.count == count;
}

enum nuc_status nuc_op_signal_noise_reduction(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_noise_reduction *a = (const void *)args;
    struct nuc_noise_reduction p = {.channels = nuc_tensor_elements(&a->input->u.tensor)};
    int64_t n[NUC_NOISE_NUMBERS];

    if (!nuc_need(cx,
                  read_list(cx, a->numbers, n, NUC_NOISE_NUMBERS) && nuc_noise_reduction_read(n, NUC_NOISE_NUMBERS, &p),
                  NUC_TEXT("argument 'numbers' is out of range")))
        return NUC_UNSUPPORTED;
    nuc_signal_noise_reduction(&p, a->input->u.tensor.data, a->noise->u.tensor.data, a->noise_out->u.tensor.data,
                               a->out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_signal_pcan(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_pcan *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *gains = &a->gains->u.tensor;

    if (!nuc_need(cx, nuc_tensor_elements(gains) == NUC_PCAN_GAINS, NUC_TEXT("argument 'gains' is not int16[125]")))
        return NUC_UNSUPPORTED;
    nuc_signal_pcan(in->data, a->noise->u.tensor.data, nuc_tensor_elements(in), gains->data, nuc_int32(a->snr_shift),
                    a->out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_signal_log(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_log *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;

    (void)cx;
    nuc_signal_filter_bank_log(in->data, nuc_tensor_elements(in), (uint32_t)a->scale->u.i,
                               nuc_int32(a->correction_bits), a->out->u.tensor.data);
    return NUC_OK;
}

/* Three rows of the bands, and of the weights two, their own and those of the next band. */
static struct nuc_filter_bank bank_of(const struct nuc_tensor *bands, const struct nuc_tensor *weights)
{
    const size_t size = frame_of(bands);
    const int16_t *rows = bands->data, *first = weights->data;

    return (struct nuc_filter_bank){size - 1, rows, rows + size, rows + 2 * size, first, first + frame_of(weights)};
}

static bool is_bank(struct nuc_kernel_context *cx, const struct nuc_tensor *bands, const struct nuc_tensor *weights,
                    const struct nuc_value *table, size_t length)
{
    return nuc_need(cx, bands->sizes[0] == 3 && weights->sizes[0] == 2 && frame_of(bands) >= 2,
                    NUC_TEXT("argument 'bands' is not three rows, or 'weights' not two")) &&
           nuc_need(cx, nuc_tensor_elements(&table->u.tensor) == nuc_rfft_table_numbers(length),
                    NUC_TEXT("argument 'table' is not that of this length"));
}

static bool read_features(struct nuc_kernel_context *cx, const struct nuc_args_signal_features *a,
                          struct nuc_features *p)
{
    const struct nuc_tensor *window = &a->window->u.tensor, *weights = &a->weights->u.tensor;
    const struct nuc_tensor *bands = &a->bands->u.tensor, *cosines = nuc_optional_tensor(a->cosines);
    int64_t n[NUC_FEATURE_NUMBERS];

    *p = (struct nuc_features){.window_size = nuc_tensor_elements(window),
                               .window = window->data,
                               .table = a->table->u.tensor.data,
                               .factor = nuc_value_float(a->factor),
                               .bank = bank_of(bands, weights)};
    if (cosines != NULL) {
        p->cosines = cosines->data;
        p->coefficients = (size_t)cosines->sizes[0];
    }
    return nuc_need(cx,
                    read_list(cx, a->numbers, n, NUC_FEATURE_NUMBERS) && nuc_features_read(n, NUC_FEATURE_NUMBERS, p),
                    NUC_TEXT("argument 'numbers' is out of range")) &&
           is_bank(cx, bands, weights, a->table, p->length) &&
           nuc_need(cx, cosines == NULL || frame_of(cosines) == p->bank.channels,
                    NUC_TEXT("argument 'cosines' is not of the bands")) &&
           nuc_need(cx, nuc_features_fit(p, frame_of(weights)),
                    NUC_TEXT("a band lies outside the spectrum or the weights")) &&
           nuc_need(cx, nuc_tensor_elements(&a->scratch->u.tensor) == nuc_features_scratch(p),
                    NUC_TEXT("argument 'scratch' is not that of a frame"));
}

enum nuc_status nuc_op_signal_features(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_features *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    const size_t samples = frame_of(in), count = nuc_tensor_elements(in) / samples;
    struct nuc_features p;

    if (!read_features(cx, a, &p))
        return NUC_UNSUPPORTED;
    const size_t each = p.coefficients > 0 ? p.coefficients : p.bank.channels;
    const size_t made = nuc_features_frames(&p, samples) * each;
    if (!nuc_need(cx, made > 0 && nuc_tensor_elements(out) == count * made,
                  NUC_TEXT("argument 'out' has not the frames of 'input'")))
        return NUC_UNSUPPORTED;
    for (size_t i = 0; i < count; i++)
        nuc_signal_features(&p, (const int16_t *)in->data + i * samples, samples, a->scratch->u.tensor.data,
                            (float *)out->data + i * made);
    return NUC_OK;
}

static bool read_micro(struct nuc_kernel_context *cx, const struct nuc_args_signal_micro *a, struct nuc_micro *p)
{
    const struct nuc_tensor *window = &a->window->u.tensor, *weights = &a->weights->u.tensor;
    const struct nuc_tensor *bands = &a->bands->u.tensor, *gains = nuc_optional_tensor(a->gains);
    int64_t n[NUC_MICRO_NUMBERS];

    *p = (struct nuc_micro){.window_size = nuc_tensor_elements(window),
                            .window = window->data,
                            .table = a->table->u.tensor.data,
                            .gains = gains != NULL ? gains->data : NULL,
                            .factor = nuc_value_float(a->factor),
                            .bank = bank_of(bands, weights)};
    return nuc_need(cx, read_list(cx, a->numbers, n, NUC_MICRO_NUMBERS) && nuc_micro_read(n, NUC_MICRO_NUMBERS, p),
                    NUC_TEXT("argument 'numbers' is out of range")) &&
           is_bank(cx, bands, weights, a->table, p->length) &&
           nuc_need(cx, gains == NULL || nuc_tensor_elements(gains) == NUC_PCAN_GAINS,
                    NUC_TEXT("argument 'gains' is not int16[125]")) &&
           nuc_need(cx, nuc_micro_fits(p, frame_of(weights)),
                    NUC_TEXT("a band lies outside the spectrum or the weights")) &&
           nuc_need(cx,
                    nuc_tensor_elements(&a->noise->u.tensor) == p->bank.channels &&
                        nuc_tensor_elements(&a->noise_out->u.tensor) == p->bank.channels &&
                        nuc_tensor_elements(&a->scratch->u.tensor) == nuc_micro_scratch(p),
                    NUC_TEXT("argument 'noise', 'noise_out' or 'scratch' is not that of a frame"));
}

enum nuc_status nuc_op_signal_micro(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_signal_micro *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    const size_t samples = nuc_tensor_elements(in);
    struct nuc_micro p;

    if (!read_micro(cx, a, &p))
        return NUC_UNSUPPORTED;
    const size_t made = nuc_micro_frames(&p, samples) * p.bank.channels;
    if (!nuc_need(cx, made > 0 && nuc_tensor_elements(out) == made,
                  NUC_TEXT("argument 'out' has not the frames of 'input'")))
        return NUC_UNSUPPORTED;
    const uint32_t *noise = a->noise->u.tensor.data;
    uint32_t *noise_out = a->noise_out->u.tensor.data;
    for (size_t i = 0; i < p.bank.channels; i++)
        noise_out[i] = noise[i];
    nuc_signal_micro(&p, in->data, samples, noise_out, a->scratch->u.tensor.data, out->data);
    return NUC_OK;
}
