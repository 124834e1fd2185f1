/*
 * Transposes of typical networks as the reference has them: with the NPU converting formats, with the runtime doing it,
 * and with channels-last values. Networks are lowered as they reach the lowering; operators in execution order are
 * compared, and what the runtime learns of each boundary.
 */
#include "lower_net.h"

enum column { BY_NPU, BY_RUNTIME, CHANNELS_LAST, N_COLUMNS };

#define IN(name, sizes) "%" name " = input : float32[" sizes "]<last> ! 0.5, 3\n"
#define ALWAYS(sizes) "%x = input : float32[" sizes "] ! 0.5, 3\n"
#define W(name, sizes) "%" name " = buffer : int8[" sizes "] ! 0.25\n"
#define CONV(name, in, w, pad)                                                                                         \
    "%" name " = edge.aten.convolution.default(%" in ", %" w ", none, [1, 1], [" pad ", " pad                          \
    "], [1, 1], false, [0, 0], 1) ! 0.75, -5\n"
#define POOL(name, in, quantization)                                                                                   \
    "%" name "i = edge.aten.max_pool2d_with_indices.default(%" in ", [2, 2], [1, 1]); %" name " = getitem(%" name      \
    "i, 0) ! " quantization "\n"
#define AMAX(name, in, dims) "%" name " = edge.aten.amax.default(%" in ", [" dims "], false) ! 0.5, 3\n"
/* Permuted weights with a quantize and dequantize of their own. */
#define LINEAR(name, in)                                                                                               \
    "%c = edge.aten.permute_copy.default(%dv, [1, 0]) ! 0.25; %" name " = edge.aten.mm.default(%" in ", %dc) ! 1, 0\n"

/* "TRANSPOSE" is "T"; a boundary that the runtime passes in channels-last order is marked at its end of the list. */
static const struct {
    const char *net;
    const char *columns[N_COLUMNS];
} rows[] = {
    {IN("x", "1, 2, 4, 4") W("w", "3, 2, 3, 3") CONV("r", "dx", "dw", "1"),
     {"T PADV2 CONV_2D T", "last: PADV2 CONV_2D :last", "last: PADV2 CONV_2D :last"}},
    {IN("x", "1, 2, 3, 4") W("w", "2, 2, 1, 1") W("v", "4, 24")
         CONV("h", "dx", "dw", "0") "%f = edge.aten.view_copy.default(%dh, [1, 24]) ! 0.75, -5\n" LINEAR(
             "m", "df") "%r = edge.aten._softmax.default(%dm, -1, false) ! 0.00390625, -128\n",
     {"T CONV_2D RESHAPE FULLY_CONNECTED SOFTMAX", "last: CONV_2D RESHAPE FULLY_CONNECTED SOFTMAX",
      "last: CONV_2D RESHAPE FULLY_CONNECTED SOFTMAX"}},
    /* Convolutions and pools in turn, then a classifier: CifarNet, MobileNet. */
    {IN("x", "1, 3, 8, 8") W("w", "4, 3, 3, 3") W("u", "4, 4, 3, 3") W("v", "4, 144") CONV("h", "dx", "dw", "1")
         POOL("p", "dh", "0.75, -5") CONV("k", "dp", "du", "1") POOL(
             "q", "dk", "0.75, -5") "%f = edge.aten.view_copy.default(%dq, [1, 144]) ! 0.75, -5\n" LINEAR("r", "df"),
     {"T PADV2 CONV_2D MAX_POOL_2D PADV2 CONV_2D MAX_POOL_2D RESHAPE FULLY_CONNECTED",
      "last: PADV2 CONV_2D MAX_POOL_2D PADV2 CONV_2D MAX_POOL_2D RESHAPE FULLY_CONNECTED",
      "last: PADV2 CONV_2D MAX_POOL_2D PADV2 CONV_2D MAX_POOL_2D RESHAPE FULLY_CONNECTED"}},
    {IN("x", "1, 2, 4, 4") W("w", "3, 2, 1, 1") W("v", "2, 3, 1, 1") CONV("h", "dx", "dw", "0")
         CONV("r", "dh", "dv", "0"),
     {"T CONV_2D CONV_2D T", "last: CONV_2D CONV_2D :last", "last: CONV_2D CONV_2D :last"}},
    {IN("x", "1, 2, 4, 5") POOL("p", "dx", "0.5, 3") AMAX("r", "dp", "1"),
     {"T MAX_POOL_2D REDUCE_MAX", "last: MAX_POOL_2D REDUCE_MAX", "last: MAX_POOL_2D REDUCE_MAX"}},
    {IN("x", "1, 2, 4, 5") POOL("p", "dx", "0.5, 3") AMAX("r", "dp", "2, 3"),
     {"T MAX_POOL_2D REDUCE_MAX", "last: MAX_POOL_2D REDUCE_MAX", "last: MAX_POOL_2D REDUCE_MAX"}},
    {IN("x", "1, 2, 4, 5") POOL("p", "dx", "0.5, 3") AMAX("r", "dp", "2"),
     {"T MAX_POOL_2D T REDUCE_MAX", "last: MAX_POOL_2D T REDUCE_MAX", "last: MAX_POOL_2D T REDUCE_MAX"}},
    /* There is no channels-last input of five dimensions to begin with. */
    {ALWAYS("1, 2, 3, 4, 5") AMAX("m", "dx", "2") POOL("r", "dm", "0.5, 3"),
     {"REDUCE_MAX T MAX_POOL_2D T", "REDUCE_MAX T MAX_POOL_2D :last", "REDUCE_MAX T MAX_POOL_2D T"}},
    {ALWAYS("1, 4") W("v", "3, 4") LINEAR("m", "dx") "%r = edge.aten.relu.default(%dm) ! 1, 0\n",
     {"FULLY_CONNECTED RELU", "FULLY_CONNECTED RELU", "FULLY_CONNECTED RELU"}},
    {IN("x", "1, 2, 4, 4") IN("y", "1, 3, 4, 4") W("w", "3, 2, 1, 1")
         CONV("h", "dx", "dw", "0") "%r = edge.aten.add.Tensor(%dh, %dy) ! 1, 0\n",
     {"T T CONV_2D ADD T", "last: last: CONV_2D ADD :last", "last: last: CONV_2D ADD :last"}},
};

/* The operators, with a mark for each input and output that is channels-last to the runtime. */
static const char *summary(const struct net *n)
{
    struct nuc_text out = {.cx = n->cx};

    for (uint32_t i = 0; i < n->io.n_inputs; i++)
        nuc_text_addf(&out, "%s", n->io.inputs[i].channels_last ? "last: " : "");
    for (uint32_t i = 0; i < n->s->n_ops; i++)
        nuc_text_addf(&out, "%s%s", i == 0 ? "" : " ",
                      n->s->ops[i].code == NUC_LT_TRANSPOSE ? "T" : nuc_lt_code_name(n->cx, n->s->ops[i].code));
    for (uint32_t i = 0; i < n->io.n_outputs; i++)
        nuc_text_addf(&out, "%s", n->io.outputs[i].channels_last ? " :last" : "");
    return nuc_text_string(&out);
}

/* The text of a network with "<last>" replaced. */
static const char *with_order(struct nuc_context *cx, const char *net, bool last)
{
    const char *mark = strstr(net, "<last>");

    if (mark == NULL)
        return net;
    return nuc_format(cx, "%.*s%s%s", (int)(mark - net), net, last ? " channels-last" : "",
                      with_order(cx, mark + strlen("<last>"), last));
}

static void check_column(struct nuc_context *cx, void *arg)
{
    enum column column = *(const enum column *)arg;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct net n = {.cx = cx, .g = parse_quantized(cx, with_order(cx, rows[i].net, column == CHANNELS_LAST))};
        n.options.use_neutron_for_format_conversion = column != BY_RUNTIME;
        n.options.reference_compat = true;
        fill_quantized(n.g);
        lower_graph(&n);
        assert_string_equal(summary(&n), rows[i].columns[column]);
    }
}

static const enum column all_columns[N_COLUMNS] = {BY_NPU, BY_RUNTIME, CHANNELS_LAST};

RUN_TESTS(ROW_TEST(check_column, all_columns))
