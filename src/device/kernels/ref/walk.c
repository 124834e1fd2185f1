#include "device/kernels/ref/ref.h"

bool nuc_walk_next_row(const struct nuc_loops *loops, struct nuc_walk *walk)
{
    for (uint32_t d = loops->rank > 0 ? loops->rank - 1 : 0; d-- > 0;) {
        walk->position[d]++;
        walk->a += loops->a[d];
        walk->b += loops->b[d];
        walk->out += loops->out[d];
        if (walk->position[d] < loops->sizes[d])
            return true;
        walk->a -= loops->a[d] * loops->sizes[d];
        walk->b -= loops->b[d] * loops->sizes[d];
        walk->out -= loops->out[d] * loops->sizes[d];
        walk->position[d] = 0;
    }
    return false;
}

bool nuc_has_elements(const struct nuc_loops *loops, int32_t least)
{
    int64_t count = 1;

    for (uint32_t d = 0; d < loops->rank && count < least; d++)
        count *= loops->sizes[d];
    return count >= least;
}
