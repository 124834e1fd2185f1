/* What calibration samples say about themselves: notes, each with file, place and remedy. */
#ifndef NUC_DATA_SAMPLE_CHECK_H
#define NUC_DATA_SAMPLE_CHECK_H

#include "data/dataset.h"

struct nuc_sample_check;

/* Of a data set that is bound, whose samples follow. */
struct nuc_sample_check *nuc_sample_check_new(struct nuc_dataset *samples);

/* One sample, as nuc_dataset_read_sample() gives it. */
void nuc_sample_check_add(struct nuc_sample_check *s, const void *const *inputs);

/*
 * A note for each float input that has one value throughout, or none of whose values is beyond 1e-4, or some beyond
 * 1e4, which normalised data are not like; or when all samples are the same. From here on the data set knows the ranges
 * of its inputs. False: the samples are the same.
 */
bool nuc_sample_check_end(const struct nuc_sample_check *s);

#endif
