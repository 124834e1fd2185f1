/* Physical orders as torch derives them from strides. */
#include <string.h>

#include "ir/shapes/shapes.h"

int64_t nuc_checked_elements(const int64_t *sizes, uint32_t rank)
{
    int64_t n = 1;
    bool empty = false;

    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] < 0 || sizes[i] > NUC_MAX_ELEMENTS)
            return -1;
        if (sizes[i] == 0) {
            empty = true;
            continue;
        }
        n *= sizes[i];
        if (n > NUC_MAX_ELEMENTS)
            return -1;
    }
    return empty ? 0 : n;
}

int64_t nuc_last_element(const int64_t *sizes, const int64_t *strides, uint32_t rank, int64_t offset)
{
    int64_t last = offset;

    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] == 0)
            return -1;
        if (last <= (int64_t)1 << 62)
            last += (sizes[i] - 1) * strides[i];
    }
    return last;
}

/* Strides nest in `order` (outermost first), size-1 dimensions not counted. */
static bool nests(const int64_t *sizes, const int64_t *strides, const uint8_t *order, uint32_t rank)
{
    int64_t expected = 1;

    for (uint32_t i = rank; i-- > 0;) {
        uint8_t d = order[i];
        if (sizes[d] == 1)
            continue;
        if (strides[d] != expected)
            return false;
        expected *= sizes[d] == 0 ? 1 : sizes[d];
    }
    return true;
}

/* Negative: a lies inside b already; positive: they change places; 0: undecided. */
static int compare_dims(const int64_t *sizes, const int64_t (*strides)[NUC_MAX_RANK], uint32_t count, uint8_t a,
                        uint8_t b)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t stride_a = strides[i][a];
        int64_t stride_b = strides[i][b];
        if (stride_a == 0 || stride_b == 0)
            continue;
        if (stride_a != stride_b)
            return stride_a < stride_b ? -1 : 1;
        if (sizes[a] > sizes[b])
            return 1;
    }
    return 0;
}

/* Insertion sort from the innermost dimension outwards; it goes on past undecided neighbours, as torch's does. */
static void sort_dims(const int64_t *sizes, const int64_t (*strides)[NUC_MAX_RANK], uint32_t count, uint32_t rank,
                      uint8_t *dim_order)
{
    uint8_t perm[NUC_MAX_RANK];

    for (uint32_t i = 0; i < NUC_MAX_RANK; i++) /* from rank on nothing reads it */
        perm[i] = (uint8_t)(rank - 1 - i);
    for (uint32_t i = 1; i < rank; i++) {
        uint32_t moving = i;
        for (uint32_t k = i; k-- > 0;) {
            int comparison = compare_dims(sizes, strides, count, perm[k], perm[moving]);
            if (comparison < 0)
                break;
            if (comparison > 0) {
                uint8_t held = perm[k];
                perm[k] = perm[moving];
                perm[moving] = held;
                moving = k;
            }
        }
    }
    for (uint32_t i = 0; i < rank; i++)
        dim_order[i] = perm[rank - 1 - i];
}

void nuc_dim_order_of_inputs(const int64_t *sizes, const int64_t (*strides)[NUC_MAX_RANK], uint32_t count,
                             uint32_t rank, uint8_t *dim_order)
{
    static const uint8_t nhwc[4] = {0, 2, 3, 1};
    bool contiguous = true;
    bool channels_last = rank == 4;
    uint8_t in_order[NUC_MAX_RANK];

    for (uint32_t i = 0; i < NUC_MAX_RANK; i++)
        in_order[i] = (uint8_t)i;
    for (uint32_t i = 0; i < count; i++) {
        contiguous = contiguous && nests(sizes, strides[i], in_order, rank);
        channels_last = channels_last && nests(sizes, strides[i], nhwc, rank);
    }
    if (contiguous && !channels_last)
        memcpy(dim_order, in_order, rank);
    else if (channels_last && !contiguous)
        memcpy(dim_order, nhwc, rank);
    else
        sort_dims(sizes, strides, count, rank, dim_order);
}

void nuc_dim_order_of_strides(const int64_t *sizes, const int64_t *strides, uint32_t rank, uint8_t *dim_order)
{
    int64_t row[1][NUC_MAX_RANK];

    memcpy(row[0], strides, rank * sizeof strides[0]);
    nuc_dim_order_of_inputs(sizes, (const int64_t(*)[NUC_MAX_RANK])row, 1, rank, dim_order);
}

bool nuc_suggests_channels_last(const struct nuc_meta *m)
{
    static const uint8_t inside_out[4] = {1, 3, 2, 0};
    int64_t strides[NUC_MAX_RANK];
    int64_t least = 0;

    if (m->rank != 4)
        return false;
    nuc_dense_strides(m, strides);
    for (uint32_t i = 0; i < 4; i++) {
        uint8_t d = inside_out[i];
        if (m->sizes[d] == 0 || strides[d] < least)
            return false;
        /* N111 fits both orders and counts as contiguous. */
        if (d == 0 && least == strides[1])
            return false;
        least = strides[d] * (m->sizes[d] > 1 ? m->sizes[d] : 1);
    }
    return true;
}

void nuc_order_as(struct nuc_meta *m, bool channels_last)
{
    int64_t strides[NUC_MAX_RANK];

    nuc_set_contiguous(m);
    if (nuc_checked_elements(m->sizes, m->rank) < 0)
        return;
    if (channels_last && m->rank == 4)
        nuc_set_channels_last(m);
    nuc_dense_strides(m, strides);
    nuc_dim_order_of_strides(m->sizes, strides, m->rank, m->dim_order);
}
