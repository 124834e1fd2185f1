/* Samples: arrays by name, cut into the samples of a model's inputs, or a folder of images. */
#ifndef NUC_DATA_DATASET_H
#define NUC_DATA_DATASET_H

#include "data/arrays.h"
#include "data/images/images.h"
#include "data/metadata.h"
#include "data/recordings.h"
#include "nucleon/compile.h"

/*
 * Which of its samples a data set gives to a model: all, or one of two parts of them. Of each four, the samples being
 * in whatever order, the last one is held out; of fewer the last one of all; a single one is in both parts. For a model
 * with states the same is done with sequences; of a single one the last quarter of its steps is held out.
 */
enum nuc_samples { NUC_SAMPLES_ALL, NUC_SAMPLES_KEPT, NUC_SAMPLES_HELD_OUT };

/* Samples as a call is given them: a path, or a data set that is open. Both NULL: there are none. */
struct nuc_sample_source {
    const char *path;
    const struct nuc_dataset *data;
};

/* What data was bound to, for people. */
struct nuc_data_lines {
    size_t count;
    const char **items;
};

/* Of the float32 values of an input; least above most: none. */
struct nuc_data_range {
    double least, most;                 /* of the finite ones */
    bool fraction;                      /* one of them is no whole number */
    size_t n_not_zero, n_beyond, n_far; /* beyond the calibrated range, where values are clipped; far beyond it */
    size_t n_nan, n_infinite;
    size_t first; /* the first sample with one of these */
};

/* Of nothing yet, one for each input. */
struct nuc_data_range *nuc_new_ranges(struct nuc_context *cx, size_t n_inputs);

/* Adds the values of a sample. `least` and `most`: the calibrated range, NaN where it is not known. */
void nuc_look_at(struct nuc_data_range *r, size_t sample, const float *x, size_t count, double least, double most);

/* Warns of NaN, and of infinity but in a mask, which has no other value than one besides. False: of nothing. */
bool nuc_warn_of_not_finite(struct nuc_context *cx, const char *file, const char *name, const struct nuc_data_range *r);

/* A number below 10^9 that is the same for samples with the same values, and rarely for others. */
double nuc_sample_mark(const struct nuc_tensor_info *inputs, size_t n_inputs, const void *const *sample);

struct nuc_dataset {
    struct nuc_context *cx;
    const struct nuc_options *options; /* of its compiler: how images are prepared, what is refused */
    const char *path;
    struct nuc_arrays arrays;
    size_t n_inputs, n_samples;
    size_t first;                   /* sample 0 is this one of the part: n_samples are those of a shard */
    enum nuc_samples part;          /* n_samples are those of that part */
    size_t period;                  /* of each so many one is held out */
    bool has_states;                /* what takes the data remembers: samples are steps of sequences */
    size_t n_steps;                 /* of each sequence, where arrays have an axis of time; else 0 */
    size_t n_sequences;             /* of the part; without states 0 */
    const bool *begins;             /* by sample of the part: the first one of a sequence; without states NULL */
    const size_t *order;            /* by sample of the part: which one of all it is; NULL: by first and period */
    const struct nuc_array **bound; /* one per input */
    uint32_t *hop_axes; /* by input: its dimension along which a step is a part of the recording; NUC_NO_HOPS: whole */
    void **aligned;     /* by input: the sample read last; NULL when elements lie in memory as they are taken */
    const bool *turned; /* by input: the array has the channels last, the sample first; NULL: none does */
    void **unturned;    /* by input that is turned: the sample in the array's order; NULL: in memory */
    const struct nuc_tensor_info *inputs; /* what it is bound to */
    const char **unused;                  /* arrays that are neither bound nor labels */
    size_t n_unused;
    const char *front_end;               /* of what takes the data, its text; NULL: none */
    const struct nuc_metadata *metadata; /* of the program that takes the data; NULL: nothing is known */
    struct nuc_data_range *ranges;       /* by input, in the samples that were looked at */
    size_t n_looked_at;
    size_t n_calibrated_with;                    /* of these, samples that calibration had, as far as its marks show */
    struct nuc_calibration_metadata calibration; /* of these samples, where they calibrated */
    struct nuc_data_lines lines;
    size_t lines_capacity;

    /* Folders of images and of recordings; of recordings one entry for each window. */
    const struct nuc_images *files; /* NULL: arrays */

    /* Recordings: `arrays` holds what they become for the inputs. */
    const struct nuc_images *found;         /* the files themselves */
    const struct nuc_recording *recordings; /* NULL: arrays or images */

    /* A folder of images: `arrays` holds at most the labels, `bound` is not used. */
    const struct nuc_images *images; /* NULL: arrays */
    struct nuc_image_format format;  /* of the input */
    size_t per_sample;               /* images in one sample */
    const size_t *class_of;          /* by folder; NULL: classes are the folders in their order */
    float *sample;                   /* the sample read last */
    float *image;                    /* the image read last, the channels first */
    bool is_raw;                     /* a file of frames */
    const struct nuc_camera *camera; /* samples are frames of it; NULL: they are not */
    uint8_t *frame;                  /* the one read last */
    bool channels_last;              /* samples have them last */
};

/* Whether an array of that name holds labels: no input takes it unless it has that name. */
bool nuc_is_label_array(const char *name);

/* The data set at a path, and that of arrays in memory as nuc_dataset_of_arrays() has them. */
struct nuc_dataset *nuc_dataset_read(struct nuc_context *cx, const struct nuc_options *options, const char *path);
struct nuc_dataset *nuc_dataset_take(struct nuc_context *cx, const struct nuc_options *options, const char *name,
                                     const struct nuc_array_info *arrays, size_t count);

/* Arrays in memory, checked: names are copied, elements are not. */
struct nuc_arrays nuc_arrays_given(struct nuc_context *cx, const char *where, const struct nuc_array_info *arrays,
                                   size_t count);

/* Whether there are any; and a data set of them that is not bound yet, whatever the given one is bound to. */
bool nuc_has_samples(struct nuc_sample_source source);
struct nuc_dataset *nuc_dataset_for(struct nuc_context *cx, const struct nuc_options *options,
                                    struct nuc_sample_source source);

/* For messages: the path, or what stands for it. */
const char *nuc_samples_name(struct nuc_sample_source source);

/*
 * Binds the samples of d->part to inputs (dataset_bind.c). `turned` NULL: as a caller sees them. Else as a graph has
 * them: images whose channels the graph has last outside and first inside are `turned`.
 */
void nuc_dataset_bind_inputs(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                             const bool *turned);

/* Which one of all samples that one of d->part is: messages name it so. */
size_t nuc_sample_of_all(const struct nuc_dataset *d, size_t sample);

/* Whether samples lie in memory as they are taken: what was read of one stays. */
bool nuc_dataset_is_in_memory(const struct nuc_dataset *d);

/* nuc_dataset_sample() inside a stage. */
void nuc_dataset_read_sample(const struct nuc_dataset *d, size_t sample, const void **inputs);

/* ---- sequences (dataset_sequences.c) ---- */

/* Samples are steps: none is a part of a longer one. */
#define NUC_NO_HOPS UINT32_MAX

/* The name of the array that marks where sequences begin, unless an input has it. */
#define NUC_RESET_ARRAY "reset"

/* Of a bound data set with states: finds its sequences and takes those of the part. */
void nuc_dataset_find_sequences(struct nuc_dataset *d);

/* "5 samples", or "2 sequences of 100 steps". */
const char *nuc_samples_text(struct nuc_context *cx, size_t n_samples, size_t n_steps);

/* Whether an array that no input takes by its name tells where sequences begin; and whether it is bound. */
bool nuc_is_marks(const struct nuc_dataset *d, const struct nuc_array *a);
bool nuc_is_bound(const struct nuc_dataset *d, const struct nuc_array *a);

/* The last sample of the sequence under way. */
bool nuc_dataset_ends(const struct nuc_dataset *d, size_t sample);

/* ---- the data of a bound data set (dataset_range.c) ---- */

/* Ranges of the inputs: of all samples of arrays, of a few images. */
void nuc_dataset_look(struct nuc_dataset *d);

/*
 * Compares what was seen with d->metadata: fails where the data are in another unit (0 to 255 instead of 0 to 1) unless
 * the options allow it, and notes what may be so on purpose.
 */
void nuc_dataset_judge(const struct nuc_dataset *d);

/* Whether the sizes may be those of images: 1 or 3 channels, at either end. */
bool nuc_may_be_image(const struct nuc_tensor_info *t);

/* Makes the lines of nuc_dataset_line(). */
void nuc_dataset_describe(struct nuc_dataset *d);

/* ---- a folder of images (images/dataset_images.c) ---- */

/* The data set when `path` is a folder with images and without .npy files, else NULL. */
struct nuc_dataset *nuc_dataset_of_images(struct nuc_context *cx, const char *path);

/* `turned` as for nuc_dataset_bind_inputs(). */
void nuc_dataset_bind_images(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                             const bool *turned);
void nuc_dataset_read_images(const struct nuc_dataset *d, size_t sample, const void **inputs);

/* Elements of an image in logical order from one order to the other; `info` is the image with its channels last. */
void nuc_put_channels_first(const struct nuc_tensor_info *info, const void *from, void *to);
void nuc_put_channels_last(const struct nuc_tensor_info *info, const void *from, void *to);

/* ---- what calibration samples say about themselves: notes, each with file, place and remedy (sample_check.c) ---- */

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
