/*
 * LiteRT's signal operators: custom operators by their names, whose options are FlexBuffers. Their integers have no
 * scales; those without a sign are carried as int32 and int64 of the same bits.
 */
#include <string.h>

#include "algorithms/rfft_table.h"
#include "device/signal/signal.h"
#include "litert/flexbuffer.h"
#include "tflite_import.h"

static int64_t option(struct nuc_ti *ti, const char *key, int64_t low, int64_t high)
{
    int64_t value;

    if (!nuc_flex_int(ti->op->options.custom.options, key, &value))
        nuc_ti_fail(ti, "has no number '%s' among its options", key);
    if (value < low || value > high)
        nuc_ti_fail(ti, "has %s %lld: %lld to %lld are handled", key, (long long)value, (long long)low,
                    (long long)high);
    return value;
}

/* Operand i in the sizes of its tensor. */
static struct nuc_arg operand(struct nuc_ti *ti, uint32_t i, enum nuc_dtype dtype)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);

    if (t->dtype != dtype || nuc_ti_is_quantized(t))
        nuc_ti_fail(ti, "operand '%s' is %s instead of %s without a scale", t->name, nuc_dtype_name(t->dtype),
                    nuc_dtype_name(dtype));
    return nuc_node_arg(nuc_ti_real(ti, i, NUC_TI_PLAIN));
}

/* The numbers of constant operand i. */
static const int16_t *numbers(struct nuc_ti *ti, uint32_t i, int64_t *count)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    const int64_t held = nuc_ti_held(t);

    if (t->dtype != NUC_I16 || nuc_ti_is_quantized(t) || t->data.data == NULL || held < 1)
        nuc_ti_fail(ti, "operand '%s' must be a constant of int16", t->name);
    int16_t *copy = nuc_alloc_array(ti->cx, (size_t)held, sizeof *copy);
    for (int64_t k = 0; k < held; k++)
        copy[k] = (int16_t)nuc_load_u16(t->data.data + 2 * k);
    *count = held;
    return copy;
}

static void define(struct nuc_ti *ti, struct nuc_node *node)
{
    nuc_ti_define(ti, node, NUC_TI_PLAIN);
}

static void import_rfft(struct nuc_ti *ti)
{
    const int64_t length = option(ti, "fft_length", NUC_RFFT_SHORTEST, NUC_RFFT_LONGEST);

    if ((length & (length - 1)) != 0)
        nuc_ti_fail(ti, "has fft_length %lld: powers of two are handled", (long long)length);
    const int64_t count = (int64_t)nuc_rfft_table_numbers((size_t)length);
    const struct nuc_meta meta = nuc_meta_make(NUC_I16, &count, 1);
    const int16_t *values = nuc_rfft_table_s16(ti->cx, (size_t)length);
    struct nuc_arg x = operand(ti, 0, NUC_I16), table = nuc_node_arg(nuc_add_constant(ti->g, "cosines", &meta, values));
    define(ti, nuc_ti_emit(ti, NUC_OP_SIGNAL_RFFT, NUC_ARGS(x, table, length)));
}

/* Operands: energies, weights, unweights, the first bins, first weights and widths of the bands. */
static void import_filter_bank(struct nuc_ti *ti)
{
    const int64_t channels = option(ti, "num_channels", 1, NUC_RFFT_LONGEST), sizes[2] = {3, channels + 1};
    const struct nuc_meta meta = nuc_meta_make(NUC_I16, sizes, 2);
    int16_t *bands = nuc_alloc_array(ti->cx, 3 * (size_t)sizes[1], sizeof *bands);
    int64_t count, n_weights, n_unweights;

    for (uint32_t row = 0; row < 3; row++) {
        const int16_t *of_row = numbers(ti, 3 + row, &count);
        if (count != sizes[1])
            nuc_ti_fail(ti, "operand %u has %lld numbers instead of %lld", (unsigned)(3 + row), (long long)count,
                        (long long)sizes[1]);
        memcpy(bands + row * sizes[1], of_row, (size_t)count * sizeof *bands);
    }
    const int16_t *weights = numbers(ti, 1, &n_weights), *unweights = numbers(ti, 2, &n_unweights);
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    const struct nuc_filter_bank p = {(size_t)channels,     bands,   bands + sizes[1],
                                      bands + 2 * sizes[1], weights, unweights};
    if (x->rank < 1 || n_weights != n_unweights ||
        !nuc_filter_bank_fits(&p, (size_t)x->shape[x->rank - 1], (size_t)n_weights))
        nuc_ti_fail(ti, "has a band outside its input or its weights");
    struct nuc_arg energy = operand(ti, 0, NUC_I32);
    struct nuc_arg of_bands = nuc_node_arg(nuc_add_constant(ti->g, "bands", &meta, bands));
    struct nuc_arg own = operand(ti, 1, NUC_I16), rest = operand(ti, 2, NUC_I16);
    define(ti, nuc_ti_emit(ti, NUC_OP_SIGNAL_FILTER_BANK, NUC_ARGS(energy, own, rest, of_bands)));
}

/* The estimate of the noise is a state that no tensor of the model names. */
static void import_noise_reduction(struct nuc_ti *ti)
{
    static const char *const keys[] = {"smoothing", "alternate_smoothing", "one_minus_smoothing",
                                       "alternate_one_minus_smoothing", "min_signal_remaining"};
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    const int64_t channels = x->rank == 1 ? x->shape[0] : 0;
    int64_t all[8];

    if (channels < 1 || ti->op->n_outputs != 2)
        nuc_ti_fail(ti, "takes one list of channels, and has two results");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        all[i] = option(ti, keys[i], 0, INT32_MAX);
    all[5] = option(ti, "smoothing_bits", 0, 31);
    all[6] = option(ti, "spectral_subtraction_bits", 0, 32);
    all[7] = option(ti, "clamping", 0, 1);
    struct nuc_arg channels_in = operand(ti, 0, NUC_I32);
    const struct nuc_meta meta = nuc_meta_make(NUC_I32, &channels, 1);
    struct nuc_node *noise = nuc_ti_own_state(ti, "noise", &meta);
    struct nuc_node *reduced =
        nuc_ti_emit(ti, NUC_OP_SIGNAL_NOISE_REDUCTION, NUC_ARGS(channels_in, noise, nuc_ints_arg(all, 8)));
    struct nuc_node *estimate = nuc_ti_item(ti, reduced, 1);
    nuc_ti_define_result(ti, 0, nuc_ti_item(ti, reduced, 0), NUC_TI_PLAIN);
    nuc_ti_define_result(ti, 1, estimate, NUC_TI_PLAIN);
    nuc_ti_set_own_state(ti, estimate);
}

nuc_ti_importer *nuc_ti_signal(const char *name, uint32_t *n_operands)
{
    static const struct {
        const char *name;
        uint32_t n_operands;
        nuc_ti_importer *import;
    } rows[] = {{"SignalWindow", 2, nuc_ti_formula},
                {"SignalFftAutoScale", 1, nuc_ti_formula},
                {"SignalRfft", 1, import_rfft},
                {"SignalEnergy", 1, nuc_ti_formula},
                {"SignalFilterBank", 6, import_filter_bank},
                {"SignalFilterBankSquareRoot", 2, nuc_ti_formula},
                {"SignalFilterBankSpectralSubtraction", 1, import_noise_reduction},
                {"SignalPCAN", 3, nuc_ti_formula},
                {"SignalFilterBankLog", 1, nuc_ti_formula}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *n_operands = rows[i].n_operands;
            return rows[i].import;
        }
    }
    return NULL;
}
