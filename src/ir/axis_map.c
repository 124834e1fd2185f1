#include "ir/axis_map.h"

#include <string.h>

#include "device/signal/features.h"
#include "device/signal/micro.h"
#include "ir/args.h"
#include "ir/conv_args.h"

/*
 * One operand `x` and one result `y` of a call. Operators of a family name their arguments alike: the schema says where
 * they are.
 */
struct place {
    const struct nuc_node *node;
    uint32_t value, arg, element;
    const struct nuc_meta *x, *y;
    struct nuc_axis_map *map;
};

static bool is_arg(const struct place *p, const char *name)
{
    return p->arg == nuc_arg_named(p->node, name);
}

/* ---- axes ---- */

static struct nuc_axis *add(const struct place *p, enum nuc_axis_kind kind, uint32_t from)
{
    struct nuc_axis *a = &p->map->axes[p->map->count++];

    *a = (struct nuc_axis){.kind = kind, .from = from, .from_end = from + 1, .taps = 1, .dilation = 1};
    return a;
}

/* Index i of dimension `to` comes from index i of dimension `from`, or from its only one. */
static struct nuc_axis *add_follower(const struct place *p, uint32_t from, uint32_t to)
{
    struct nuc_axis *a = add(p, NUC_AXIS_ELEMENT, from);

    a->to = to;
    a->to_end = to + 1;
    a->step = p->x->sizes[from] == 1 && p->y->sizes[to] != 1 ? 0 : 1;
    return a;
}

/* Dimensions aligned at the last one, those of the mask (of the operand) reduced. */
static bool align(const struct place *p, uint32_t whole)
{
    uint32_t lead = p->y->rank - p->x->rank;

    if (p->x->rank > p->y->rank)
        return false;
    for (uint32_t d = 0; d < p->x->rank; d++) {
        struct nuc_axis *a = add_follower(p, d, lead + d);
        a->kind = whole >> d & 1 ? NUC_AXIS_WHOLE : a->kind;
    }
    return true;
}

/* A list of values for the indices of dimension `to`, or one for all. */
static bool along(const struct place *p, uint32_t to)
{
    if (p->x->rank == p->y->rank && p->x->rank != 1)
        return align(p, 0);
    if (p->x->rank > 1 || (p->x->rank == 1 && p->x->sizes[0] != 1 && to >= p->y->rank))
        return false;
    if (p->x->rank == 1 && to < p->y->rank)
        add_follower(p, 0, to);
    else if (p->x->rank == 1)
        add(p, NUC_AXIS_ELEMENT, 0);
    p->map->keeps_dims = false;
    return true;
}

/* ---- one element for one ---- */

/* A PReLU has a slope for each channel, which lies along dimension 1. */
static bool map_elements(const struct place *p)
{
    return is_arg(p, "weight") ? along(p, 1) : align(p, 0);
}

static bool map_first(const struct place *p)
{
    return p->arg == NUC_SELF && align(p, 0);
}

static bool map_view(const struct place *p)
{
    uint32_t i = 0, j = 0;

    p->map->keeps_dims = false;
    if (nuc_elements(p->x) != nuc_elements(p->y))
        return false;
    if (nuc_elements(p->x) == 0) { /* sizes of nothing need not belong together */
        for (uint32_t d = 0; d < p->x->rank; d++)
            add(p, NUC_AXIS_WHOLE, d);
        return true;
    }
    while (i < p->x->rank || j < p->y->rank) { /* dimensions that hold the same elements on both sides */
        struct nuc_axis a = {.kind = NUC_AXIS_ELEMENT, .from = i, .to = j, .step = 1, .taps = 1, .dilation = 1};
        int64_t m = 1, n = 1;
        do {
            if (m <= n && i < p->x->rank)
                m *= p->x->sizes[i++];
            else if (j < p->y->rank)
                n *= p->y->sizes[j++];
            else
                m *= p->x->sizes[i++];
        } while (m != n);
        a.from_end = i;
        a.to_end = j;
        if (a.from < a.from_end)
            p->map->axes[p->map->count++] = a;
    }
    return true;
}

/* A list names the dimensions, or two numbers those that change places; without either there are two. */
static bool map_permute(const struct place *p)
{
    const struct nuc_arg *dims = nuc_arg_at(p->node, 1);
    uint32_t rank = p->x->rank, a = nuc_arg_named(p->node, "dim0"), b = nuc_arg_named(p->node, "dim1");

    p->map->keeps_dims = false;
    if (p->arg != NUC_SELF || rank != p->y->rank || (dims->kind == NUC_ARG_INTS && dims->count != rank))
        return false;
    a = a == NUC_NO_ARG ? 0 : (uint32_t)nuc_dim(p->node, a, 0, rank);
    b = b == NUC_NO_ARG ? 1 : (uint32_t)nuc_dim(p->node, b, 0, rank);
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t from = d == a && rank > 1 ? b : d == b ? a : d;
        if (dims->kind == NUC_ARG_INTS)
            from = (uint32_t)nuc_positive_dim(dims->u.ints[d], rank);
        add_follower(p, from, d)->step = 1;
    }
    return true;
}

/* ---- parts ---- */

/* A piece of the operand along a dimension: from `start` on, every step-th index. */
static bool take(const struct place *p, uint32_t dim, int64_t start, int64_t step)
{
    if (!align(p, 0) || dim >= p->x->rank)
        return false;
    p->map->axes[dim].start = start;
    p->map->axes[dim].step = step;
    return true;
}

static bool map_slice(const struct place *p)
{
    const struct nuc_node *n = p->node;
    uint32_t dim = (uint32_t)nuc_dim(n, nuc_arg_named(n, "dim"), 0, p->x->rank);

    if (dim >= p->x->rank)
        return false;
    int64_t start = nuc_slice_end(nuc_integer(n, nuc_arg_named(n, "start"), 0), p->x->sizes[dim]);
    return take(p, dim, start, nuc_integer(n, nuc_arg_named(n, "step"), 1));
}

/* Pieces one after the other. */
static bool map_split(const struct place *p)
{
    uint32_t dim = (uint32_t)nuc_dim(p->node, nuc_arg_named(p->node, "dim"), 0, p->x->rank);
    int64_t start = 0;

    for (uint32_t i = 0; i < p->value && dim < p->x->rank; i++)
        start += p->node->vals[i].sizes[dim];
    return take(p, dim, start, 1);
}

static bool map_flip(const struct place *p)
{
    const struct nuc_arg *dims = nuc_arg_at(p->node, nuc_arg_named(p->node, "dims"));

    if (!align(p, 0))
        return false;
    for (uint32_t i = 0; i < dims->count; i++) {
        int64_t d = nuc_positive_dim(dims->u.ints[i], p->x->rank);
        p->map->axes[d].start = p->x->sizes[d] - 1;
        p->map->axes[d].step = -1;
    }
    return true;
}

/* Two dimensions follow the last one of the result. */
static bool map_diagonal(const struct place *p)
{
    const struct nuc_node *n = p->node;
    uint32_t a = (uint32_t)nuc_dim(n, nuc_arg_named(n, "dim1"), 0, p->x->rank), to = 0;
    uint32_t b = (uint32_t)nuc_dim(n, nuc_arg_named(n, "dim2"), 1, p->x->rank);
    int64_t offset = nuc_integer(n, nuc_arg_named(n, "offset"), 0);

    p->map->keeps_dims = false;
    for (uint32_t d = 0; d < p->x->rank; d++) {
        struct nuc_axis *axis = add_follower(p, d, d == a || d == b ? p->y->rank - 1u : to++);
        axis->step = 1;
        axis->start = d == a && offset < 0 ? -offset : d == b && offset > 0 ? offset : 0;
    }
    return true;
}

/* An operand among others lies behind those in front of it. */
static bool map_cat(const struct place *p)
{
    const struct nuc_arg *list = nuc_arg_at(p->node, p->arg);
    uint32_t dim = (uint32_t)nuc_dim(p->node, nuc_arg_named(p->node, "dim"), 0, p->y->rank);
    int64_t start = 0;

    for (uint32_t i = 0; i < p->element; i++) {
        const struct nuc_meta *before = &list->u.nodes[i]->vals[0];
        start -= before->rank == p->y->rank ? before->sizes[dim] : 0;
    }
    return p->x->rank == p->y->rank && take(p, dim, start, 1);
}

/* Pairs of numbers from the last dimension on. Other modes than constants repeat elements of the operand. */
static bool map_pad(const struct place *p)
{
    const struct nuc_arg *pad = nuc_arg_at(p->node, nuc_arg_named(p->node, "pad"));
    const struct nuc_arg *mode = nuc_arg_at(p->node, nuc_arg_named(p->node, "mode"));
    bool constant = mode->kind != NUC_ARG_STRING || strcmp(mode->u.string, "constant") == 0;

    if (p->arg != NUC_SELF || pad->kind != NUC_ARG_INTS || pad->count / 2 > p->x->rank || !align(p, 0))
        return false;
    for (uint32_t d = 0; d < p->x->rank; d++) {
        uint32_t i = 2 * (p->x->rank - 1 - d);
        bool padded = i < pad->count && (pad->u.ints[i] != 0 || pad->u.ints[i + 1] != 0);
        struct nuc_axis *a = &p->map->axes[d];
        a->step = 1;
        a->start = padded && constant ? -pad->u.ints[i] : 0;
        a->kind = padded && !constant ? NUC_AXIS_WHOLE : NUC_AXIS_ELEMENT;
    }
    return true;
}

/* ---- windows and sums ---- */

/* The last `count` dimensions of an image are those of windows. */
static bool align_windows(const struct place *p, uint32_t count)
{
    if (p->arg != NUC_SELF || p->x->rank != p->y->rank || p->x->rank < count || !align(p, 0))
        return false;
    for (uint32_t d = p->x->rank - count; d < p->x->rank; d++) {
        p->map->axes[d].kind = NUC_AXIS_WINDOW;
        p->map->axes[d].step = p->map->axes[d].taps = 0;
    }
    return true;
}

/* The numbers of the windows. An operator without a stride takes one window behind the other. */
static void set_windows(const struct place *p, uint32_t count, const int64_t *kernel)
{
    const struct nuc_node *n = p->node;
    int64_t stride[NUC_MAX_RANK], before[NUC_MAX_RANK], dilation[NUC_MAX_RANK];
    const struct nuc_arg *strides = nuc_arg_at(n, nuc_arg_named(n, "stride"));
    const struct nuc_arg *padding = nuc_arg_at(n, nuc_arg_named(n, "padding"));
    bool has_stride = strides->kind == NUC_ARG_INT || (strides->kind == NUC_ARG_INTS && strides->count > 0);
    bool both_ends = padding->kind == NUC_ARG_INTS && padding->count == 2 * count; /* in front first */

    nuc_conv_numbers(n, nuc_arg_named(n, "stride"), count, 1, stride);
    nuc_conv_numbers(n, nuc_arg_named(n, "padding"), count, 0, before);
    nuc_conv_numbers(n, nuc_arg_named(n, "dilation"), count, 1, dilation);
    for (uint32_t i = 0; i < count; i++) {
        struct nuc_axis *a = &p->map->axes[p->x->rank - count + i];
        a->step = has_stride ? stride[i] : kernel[i];
        a->taps = kernel[i];
        a->dilation = dilation[i];
        a->start = -(both_ends ? padding->u.ints[i] : before[i]);
        if (padding->kind == NUC_ARG_STRING)
            a->start = strcmp(padding->u.string, "same") == 0 ? -(dilation[i] * (kernel[i] - 1) / 2) : 0;
    }
}

/* Windows of a size that is given, or as many as are asked for: these are alike where they divide the image. */
static bool map_pool(const struct place *p)
{
    uint32_t at = nuc_arg_named(p->node, "kernel_size"),
             size = at == NUC_NO_ARG ? nuc_arg_named(p->node, "output_size") : at;
    uint32_t count = size == NUC_NO_ARG ? 0 : nuc_op_schema(p->node->op)->args[size].list_size;
    int64_t kernel[NUC_MAX_RANK];

    count = count == 0 ? 2 : count; /* int8 pools go over images */
    if (p->value != 0 || !align_windows(p, count))
        return false;
    if (at != NUC_NO_ARG) {
        nuc_conv_numbers(p->node, at, count, 1, kernel);
        set_windows(p, count, kernel);
        return true;
    }
    for (uint32_t d = p->x->rank - count; d < p->x->rank; d++) {
        bool alike = p->y->sizes[d] > 0 && p->x->sizes[d] % p->y->sizes[d] == 0;
        p->map->axes[d].step = p->map->axes[d].taps = alike ? p->x->sizes[d] / p->y->sizes[d] : 0;
    }
    return true;
}

/* A grid says by its values which place is read. */
static bool map_resize(const struct place *p)
{
    return p->x->rank > 2 && nuc_arg_named(p->node, "grid") == NUC_NO_ARG && align_windows(p, p->x->rank - 2u);
}

/*
 * Images [N, C, ...], also without N. Weights [O, I / groups, ...], those of a transposed convolution
 * [I, O / groups, ...]; of int8 kernels [O, ..., I], depthwise [1, ..., O].
 */
static bool map_conv(const struct place *p)
{
    const struct nuc_node *n = p->node;
    const struct nuc_meta *w = nuc_input_meta(n, NUC_CONV_WEIGHT);
    bool int8 = nuc_op_family(n->op) == NUC_FAMILY_CORTEXM, weight = p->arg == NUC_CONV_WEIGHT;
    uint32_t transposed_at = nuc_arg_named(n, "transposed"), depth_at = nuc_arg_named(n, "depth_multiplier");
    bool transposed =
        transposed_at == NUC_NO_ARG ? nuc_arg_named(n, "output_padding") != NUC_NO_ARG : nuc_flag(n, transposed_at);
    int64_t groups = nuc_integer(n, nuc_arg_named(n, "groups"), 1), kernel[NUC_MAX_RANK];

    if (w->rank < 3 || p->y->rank + 1u < w->rank || p->arg > NUC_CONV_BIAS)
        return false;
    uint32_t spatial = w->rank - 2u, channel = p->y->rank - spatial - 1u, outputs = 0;
    if (weight && depth_at != NUC_NO_ARG)
        outputs = w->rank - 1u;
    else if (weight && transposed && !int8)
        outputs = groups == 1 ? 1 : w->rank; /* in groups, none follows the channels alone */
    p->map->keeps_dims = p->arg == NUC_CONV_INPUT;
    for (uint32_t d = 0; d < p->x->rank && p->arg != NUC_CONV_INPUT; d++) {
        if (d == outputs)
            add_follower(p, d, channel);
        else
            add(p, NUC_AXIS_WHOLE, d);
    }
    if (p->arg != NUC_CONV_INPUT)
        return true;
    if (!align_windows(p, spatial))
        return false;
    struct nuc_axis *c = &p->map->axes[channel];
    bool own = groups == p->x->sizes[channel] && groups == p->y->sizes[channel];
    if (depth_at != NUC_NO_ARG ? nuc_integer(n, depth_at, 1) != 1 : !own || transposed) {
        c->kind = NUC_AXIS_WHOLE;
        c->to_end = c->to;
    }
    for (uint32_t i = 0; i < spatial; i++)
        kernel[i] = w->sizes[int8 ? 1 + i : 2 + i];
    if (!transposed)
        set_windows(p, spatial, kernel);
    return true;
}

static bool map_reduce(const struct place *p)
{
    const struct nuc_node *n = p->node;
    uint32_t at = nuc_arg_named(n, "dim"), to = 0, whole = nuc_dims_mask(n, at, p->x->rank);

    if (nuc_arg_at(n, at)->kind == NUC_ARG_INT)
        whole = 1u << nuc_dim(n, at, 0, p->x->rank);
    p->map->keeps_dims = nuc_flag(n, nuc_arg_named(n, "keepdim"));
    for (uint32_t d = 0; d < p->x->rank; d++) {
        bool reduced = whole >> d & 1;
        struct nuc_axis *a = add(p, reduced ? NUC_AXIS_WHOLE : NUC_AXIS_ELEMENT, d);
        a->to = to;
        to += reduced && !p->map->keeps_dims ? 0 : 1;
        a->to_end = to;
        a->step = 1;
    }
    return to == p->y->rank;
}

/* Softmax and running sums read one dimension as a whole. */
static bool map_along_dim(const struct place *p)
{
    uint32_t dim = (uint32_t)nuc_dim(p->node, nuc_arg_named(p->node, "dim"), 0, p->x->rank);

    return p->arg == NUC_SELF && align(p, dim < p->x->rank ? 1u << dim : 0);
}

/* gamma and beta lie along the last dimensions, where a shape names them, or along the channels. */
static bool map_norm(const struct place *p)
{
    bool last = nuc_arg_named(p->node, "normalized_shape") != NUC_NO_ARG;

    if (is_arg(p, "input"))
        return p->value == 0 && align(p, (1u << p->x->rank) - 1);
    if (p->value != 0 || (!is_arg(p, "weight") && !is_arg(p, "bias")))
        return false;
    return last ? align(p, 0) : p->x->rank == 1 && along(p, 1);
}

/* [..., M, K] by [..., K, N], either also a vector [K]; the weight of a linear layer is [N, K]. An addend broadcasts.
 */
static bool map_matrix(const struct place *p)
{
    uint32_t left = nuc_arg_named(p->node, "mat1") == NUC_NO_ARG ? 0 : nuc_arg_named(p->node, "mat1"),
             rank = p->x->rank;
    bool linear = nuc_arg_named(p->node, "weight") != NUC_NO_ARG, is_left = p->arg == left;

    if (!is_left && p->arg != left + 1)
        return align(p, 0);
    uint32_t has_rows = nuc_input_meta(p->node, left)->rank > 1,
             has_columns = nuc_input_meta(p->node, left + 1)->rank > 1;
    uint32_t summed = is_left || linear || rank < 2 ? rank - 1 : rank - 2, column = linear ? 0 : rank - 1;
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t to = p->y->rank - has_rows - rank + 1 + d;
        if (is_left)
            to = p->y->rank - has_columns - rank + 1 + d;
        else if (d == column)
            to = p->y->rank - 1u;
        if (d == summed)
            add(p, NUC_AXIS_WHOLE, d);
        else if (to < p->y->rank)
            add_follower(p, d, to);
        else
            return false;
    }
    return rank > 0;
}

/* Frames of a recording: windows of its last dimension, of which each gives a list of features. */
static bool map_features(const struct place *p)
{
    const struct nuc_arg *numbers = nuc_arg_at(p->node, NUC_ARG(SIGNAL_FEATURES, numbers));
    const uint32_t last = p->x->rank - 1u;

    p->map->keeps_dims = false;
    if (p->arg != NUC_SELF) {
        for (uint32_t d = 0; d < p->x->rank; d++)
            add(p, NUC_AXIS_WHOLE, d);
        return true;
    }
    if (p->value != 0 || numbers->count != NUC_FEATURE_NUMBERS || numbers->u.ints[NUC_FEATURE_PAD_BOTH] != 0 ||
        numbers->u.ints[NUC_FEATURE_PEAK] != 0)
        return false;
    for (uint32_t d = 0; d <= last; d++)
        add_follower(p, d, d);
    struct nuc_axis *a = &p->map->axes[last];
    a->kind = NUC_AXIS_WINDOW;
    a->step = numbers->u.ints[NUC_FEATURE_HOP];
    a->taps = nuc_input_meta(p->node, NUC_ARG(SIGNAL_FEATURES, window))->sizes[0];
    return true;
}

static bool map_micro(const struct place *p)
{
    p->map->keeps_dims = false;
    for (uint32_t d = 0; d < p->x->rank && p->arg != NUC_SELF; d++)
        add(p, NUC_AXIS_WHOLE, d);
    if (p->arg != NUC_SELF)
        return true;
    if (p->value != 0)
        return false;
    add_follower(p, 0, 0);
    add_follower(p, 1, 1);
    struct nuc_axis *a = &p->map->axes[1];
    a->kind = NUC_AXIS_WINDOW;
    a->step = nuc_arg_at(p->node, NUC_ARG(SIGNAL_MICRO, numbers))->u.ints[NUC_MICRO_HOP];
    a->taps = nuc_input_meta(p->node, NUC_ARG(SIGNAL_MICRO, window))->sizes[0];
    return true;
}

/* ---- all of them ---- */

typedef bool axis_rule(const struct place *p);

static axis_rule *const of_family[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_QUANT] = map_first,     [NUC_FAMILY_DEQUANT] = map_first,     [NUC_FAMILY_MAP] = map_first,
    [NUC_FAMILY_BINARY] = map_elements, [NUC_FAMILY_COMPARE] = map_elements,  [NUC_FAMILY_CONV] = map_conv,
    [NUC_FAMILY_NORM] = map_norm,       [NUC_FAMILY_POOL] = map_pool,         [NUC_FAMILY_RESIZE] = map_resize,
    [NUC_FAMILY_REDUCE] = map_reduce,   [NUC_FAMILY_SOFTMAX] = map_along_dim, [NUC_FAMILY_SCAN] = map_along_dim,
    [NUC_FAMILY_MATRIX] = map_matrix,   [NUC_FAMILY_VIEW] = map_view,         [NUC_FAMILY_PERMUTE] = map_permute,
    [NUC_FAMILY_COPY] = map_first,      [NUC_FAMILY_CAST] = map_first,        [NUC_FAMILY_CAT] = map_cat,
    [NUC_FAMILY_PAD] = map_pad,
};

/* Families of several kinds: their other operators decide by values, or have no map yet. */
static axis_rule *const of_ops[NUC_OP_COUNT] = {
#define AXES(op, rule) [NUC_OP_##op] = map_##rule,
#include "ir/ops.def"
};

bool nuc_axis_map(const struct nuc_node *node, uint32_t value, uint32_t arg, uint32_t element, struct nuc_axis_map *map)
{
    const struct nuc_arg *a = nuc_arg_at(node, arg);
    const struct nuc_node *operand = nuc_arg_node(node, arg);
    axis_rule *family = of_family[nuc_op_family(node->op)], *rule = family != NULL ? family : of_ops[node->op];

    if (a->kind == NUC_ARG_NODES && element < a->count)
        operand = a->u.nodes[element];
    if (rule == NULL || operand == NULL || operand->n_vals != 1 || value >= node->n_vals)
        return false;
    const struct place p = {node, value, arg, element, &operand->vals[0], &node->vals[value], map};
    *map = (struct nuc_axis_map){.keeps_dims = true};
    return rule(&p);
}

/* ---- questions to a map ---- */

const struct nuc_axis *nuc_axis_to(const struct nuc_axis_map *map, uint32_t dim)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->axes[i].to <= dim && dim < map->axes[i].to_end)
            return &map->axes[i];
    }
    return NULL;
}

uint32_t nuc_axis_dims(const struct nuc_axis_map *map)
{
    uint32_t dims = 0;

    for (uint32_t i = 0; i < map->count; i++)
        dims |= (1u << map->axes[i].to_end) - (1u << map->axes[i].to);
    return dims;
}

bool nuc_has_axis(const struct nuc_axis_map *map, enum nuc_axis_kind kind)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->axes[i].kind == kind)
            return true;
    }
    return false;
}

bool nuc_is_same_place(const struct nuc_axis_map *map, const struct nuc_meta *from, const struct nuc_meta *to)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct nuc_axis *a = &map->axes[i];
        if (a->kind != NUC_AXIS_ELEMENT || a->start != 0 || a->step != 1 || a->from != a->to ||
            a->from_end != a->to_end)
            return false;
    }
    return map->count == to->rank && nuc_same_sizes(from, to);
}

bool nuc_axis_strides(const struct nuc_axis_map *map, const int64_t *from, int64_t to[NUC_MAX_RANK], int64_t *first)
{
    uint64_t strides[NUC_MAX_RANK] = {0}, start = 0; /* of what has no second element they may be any: they wrap */

    for (uint32_t i = 0; i < map->count; i++) {
        const struct nuc_axis *a = &map->axes[i];
        if (a->kind != NUC_AXIS_ELEMENT || !nuc_is_single_axis(a))
            return false;
        start += (uint64_t)a->start * (uint64_t)from[a->from];
        strides[a->to] += (uint64_t)a->step * (uint64_t)from[a->from];
    }
    for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
        to[d] = (int64_t)strides[d];
    *first = (int64_t)start;
    return true;
}

uint32_t nuc_moved_dim(const struct nuc_node *node, const struct nuc_meta *from, uint32_t dim)
{
    const enum nuc_family family = nuc_op_family(node->op);
    struct nuc_axis_map map;

    if ((family != NUC_FAMILY_VIEW && family != NUC_FAMILY_PERMUTE && family != NUC_FAMILY_SLICE) || node->is_tuple ||
        !nuc_axis_map(node, 0, NUC_SELF, 0, &map))
        return node->vals[0].rank;
    return nuc_whole_dim(&map, from, &node->vals[0], dim);
}

uint32_t nuc_whole_dim(const struct nuc_axis_map *map, const struct nuc_meta *from, const struct nuc_meta *to,
                       uint32_t dim)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct nuc_axis *a = &map->axes[i];
        if (dim < a->from || dim >= a->from_end)
            continue;
        bool whole = a->kind == NUC_AXIS_ELEMENT && a->start == 0 && a->step == 1 &&
                     nuc_elements_between(from, a->from, a->from_end) == from->sizes[dim] &&
                     nuc_elements_between(to, a->to, a->to_end) == from->sizes[dim];
        for (uint32_t d = a->to; whole && d < a->to_end; d++) {
            if (to->sizes[d] == from->sizes[dim])
                return d;
        }
    }
    return to->rank;
}

bool nuc_axis_source(const struct nuc_axis_map *map, const struct nuc_meta *from, const struct nuc_meta *to,
                     const int64_t *index, int64_t *source)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct nuc_axis *a = &map->axes[i];
        int64_t at = 0, size = 1;
        for (uint32_t d = a->to; d < a->to_end; d++)
            at = at * to->sizes[d] + index[d];
        for (uint32_t d = a->from; d < a->from_end; d++)
            size *= from->sizes[d];
        at = a->kind == NUC_AXIS_ELEMENT ? a->start + a->step * at : 0;
        if (at < 0 || at >= size)
            return false;
        for (uint32_t d = a->from_end; d-- > a->from; at /= from->sizes[d])
            source[d] = d == a->from ? at : at % from->sizes[d];
    }
    return true;
}
