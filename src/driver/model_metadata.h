/* What a model knows of its data beyond the graph, and how that gets into its program (data/metadata.h). */
#ifndef NUC_DRIVER_MODEL_METADATA_H
#define NUC_DRIVER_MODEL_METADATA_H

#include "driver/driver.h"

struct nuc_program_memory_report;
struct nuc_decision_rule;
struct nuc_job;

/* By user input and by output, as the model was written: passes give the nodes of a graph other names. */
struct nuc_model_names {
    size_t n_inputs, n_outputs;
    const char *const *inputs, *const *outputs;
    const char *const *keys; /* of the outputs that the model names itself, else NULL; or NULL */
};

/* Of the calibration data, or of the scales that a model came with. */
struct nuc_seen {
    size_t n_inputs;
    double *least, *most;                    /* by user input; NaN: not known */
    const struct nuc_image_metadata *images; /* NULL: it was arrays */
    size_t n_classes;                        /* of folders of images */
    const char *const *classes;
    struct nuc_calibration_metadata *calibration; /* NULL: nothing is known of the samples */
};

/*
 * Of a model that was just imported: names, and of a quantized one the ranges of its inputs. Gives the decision that
 * its archive has; NULL: none.
 */
const struct nuc_decision_rule *nuc_note_imported(struct nuc_model *m);

/* Of data that went through a prepared model, whose ranges are known. Copied. */
void nuc_note_calibrated(struct nuc_model *prepared, const struct nuc_dataset *samples);

/* What the user calls input or output `index`. */
const char *nuc_input_name(const struct nuc_model *m, size_t index);
const char *nuc_output_name(const struct nuc_model *m, size_t index);

/* Fails with NUC_BAD_USAGE when the options name classes that no output has a score for. */
void nuc_check_given_classes(const struct nuc_model *m);

/* What --decision says of the outputs of a model that was just imported (decisions.c), or else its archive. */
void nuc_note_decision(struct nuc_model *m, const struct nuc_decision_rule *stored);

/* Fails where the program cannot carry it, or its threshold takes samples that are not there. */
void nuc_check_decision(const struct nuc_model *m, bool has_samples);

/* Whether a threshold is still to be made of samples. */
bool nuc_takes_quantile(const struct nuc_model *m);

/* Of a model that is quantized, or stays as it is, with the job's samples: the threshold that is a quantile of them. */
void nuc_note_threshold(struct nuc_job *j);

/*
 * The text for what is made of the model; empty when its options leave it out. Notes classes that belong to no output.
 * `banks` of a program that is split over them, NULL: of any other, and of an archive.
 */
struct nuc_span nuc_model_metadata_text(const struct nuc_model *m, const struct nuc_program_memory_report *banks);

/* The model as an archive, with what is known of its data. */
struct nuc_pieces nuc_model_archive(struct nuc_model *m);

#endif
