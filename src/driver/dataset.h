/* Samples: arrays by name, cut into the samples of a model's inputs, or a folder of images. */
#ifndef NUC_DRIVER_DATASET_H
#define NUC_DRIVER_DATASET_H

#include "back/metadata/facts.h"
#include "data/arrays.h"
#include "data/images.h"
#include "driver/driver.h"

/*
 * Which of its samples a data set gives to a model: all, or one of two parts of them. Of each four, the samples being
 * in whatever order, the last one is held out; of fewer the last one of all; a single one is in both parts.
 */
enum nuc_samples { NUC_SAMPLES_ALL, NUC_SAMPLES_KEPT, NUC_SAMPLES_HELD_OUT };

/* Of the float32 values of an input; least above most: none. */
struct nuc_data_range {
    double least, most;       /* of the finite ones */
    size_t n_not_zero, n_far; /* n_far: far beyond the calibrated range */
};

struct nuc_dataset {
    struct nuc_compiler *c;
    const char *path;
    struct nuc_arrays arrays;
    size_t n_inputs, n_samples;
    size_t first;                   /* sample 0 is this one of the part: n_samples are those of a shard */
    enum nuc_samples part;          /* n_samples are those of that part */
    size_t period;                  /* of each so many one is held out */
    const struct nuc_array **bound; /* one per input */
    size_t *bytes;                  /* of one sample of each input */
    void **aligned;  /* by input: the sample read last; NULL when elements lie in memory as they are taken */
    void **unturned; /* by input of images_of: the sample in the array's order; NULL: in memory */
    const struct nuc_tensor_info *inputs; /* what it is bound to */
    const char **unused;                  /* arrays that are neither bound nor labels */
    size_t n_unused;
    const struct nuc_program_facts *facts; /* of the program that takes the data (facts.h); NULL: nothing is known */
    struct nuc_data_range *ranges;         /* by input, in the samples that were looked at */
    size_t n_looked_at;
    struct nuc_data_lines lines;
    size_t lines_capacity;
    struct nuc_tensor_info **images_of; /* by input: what an array holds that the graph has channels first; NULL */

    /* A folder of images: `arrays` holds at most the labels, `bound` is not used. */
    const struct nuc_images *images; /* NULL: arrays */
    struct nuc_image_format format;  /* of the input */
    enum nuc_resize resize;          /* what its fit is of */
    size_t per_sample;               /* images in one sample */
    const size_t *class_of;          /* by folder; NULL: classes are the folders in their order */
    float *sample;                   /* the sample read last */
    float *image;                    /* the image read last, the channels first */
    bool channels_last;              /* samples have them last */
};

/* Whether an array of that name holds labels: no input takes it unless it has that name. */
bool nuc_is_label_array(const char *name);

struct nuc_dataset *nuc_dataset_read(struct nuc_compiler *c, const char *path);

/* Whether there are any; and a data set of them that is not bound yet, whatever the given one is bound to. */
bool nuc_has_samples(struct nuc_samples_of samples);
struct nuc_dataset *nuc_dataset_for(struct nuc_compiler *c, struct nuc_samples_of samples);

/* For messages: the path, or what stands for it. */
const char *nuc_samples_name(struct nuc_samples_of samples);

/* To inputs as a caller sees them, and to those of a model's graph: all samples (dataset_bind.c). */
void nuc_dataset_bind_tensors(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs);
void nuc_dataset_bind_graph(struct nuc_dataset *d, const struct nuc_model *m);

/* For samples as the model's graph has them, those of d->part. */
void nuc_dataset_bind_model(struct nuc_dataset *d, const struct nuc_model *m);

/* nuc_dataset_sample() inside a stage. */
void nuc_dataset_read_sample(const struct nuc_dataset *d, size_t sample, const void **inputs);

/* ---- the data of a bound data set (dataset_data.c) ---- */

/* Ranges of the inputs: of all samples of arrays, of a few images. */
void nuc_dataset_look(struct nuc_dataset *d);

/*
 * Compares what was seen with d->facts: fails where the data are in another unit (0 to 255 instead of 0 to 1) unless
 * the options allow it, and notes what may be so on purpose.
 */
void nuc_dataset_judge(const struct nuc_dataset *d);

/* Whether the sizes may be those of images: 1 or 3 channels, at either end. */
bool nuc_may_be_image(const struct nuc_tensor_info *t);

/* Makes the lines of nuc_dataset_line(). */
void nuc_dataset_describe(struct nuc_dataset *d);

/* ---- a folder of images (dataset_images.c) ---- */

/* The data set when `path` is a folder with images and without .npy files, else NULL. */
struct nuc_dataset *nuc_dataset_of_images(struct nuc_compiler *c, const char *path);

/* `order` says where the channels are. */
enum nuc_image_order { NUC_IMAGES_CHANNELS_FIRST, NUC_IMAGES_CHANNELS_LAST, NUC_IMAGES_BY_SIZES };
void nuc_dataset_bind_images(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                             enum nuc_image_order order);
void nuc_dataset_read_images(const struct nuc_dataset *d, size_t sample, const void **inputs);

#endif
