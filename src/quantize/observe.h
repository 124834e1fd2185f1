/* Samples run through the float graph, and observers see its values. */
#ifndef NUC_QUANTIZE_OBSERVE_H
#define NUC_QUANTIZE_OBSERVE_H

#include "quantize/calibration.h"

/* Before anything is seen: which values are left to others of their group, and which masks something is multiplied by.
 */
void nuc_find_unseen(struct nuc_calibration *c);

/* Constants whose range does not change from sample to sample; others count with each. */
void nuc_see_constants(struct nuc_calibration *c);

/* Gives back what samples run with; another one makes it anew. */
void nuc_end_samples(struct nuc_calibration *c);

#endif
