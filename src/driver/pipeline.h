/* What each stage does, and what compilations from file to file and those of introspect/ share. */
#ifndef NUC_DRIVER_PIPELINE_H
#define NUC_DRIVER_PIPELINE_H

#include "driver/stages.h"

/* By stage; of every compiler. */
extern const struct nuc_stage_row nuc_pipeline[NUC_STAGE_COUNT];

/* Fails with NUC_BAD_USAGE where --dump-after names no stage and no pass. NULL: it is not given. */
void nuc_check_dump_point(struct nuc_context *cx, const char *wanted);

/* Whether model, options and calibration go together: notes, and errors of usage. */
void nuc_check_model(const struct nuc_job *j, struct nuc_sample_source calibration);

/* What placement begins with: the model as it is when it came quantized, quantized, or float where that is asked for.
 */
void nuc_quantize_if_asked(struct nuc_job *j, struct nuc_sample_source calibration);

/* What can be asked for after the call; also when a program is refused for its size afterwards. */
void nuc_remember(const struct nuc_job *j);

#endif
