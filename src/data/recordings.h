/*
 * Recordings of sensors as samples of a model's input: .wav files of sound and .csv files of axes, alone or in folders,
 * which name classes as those of images do. Files are not trusted: sizes are checked against the bytes that are there.
 */
#ifndef NUC_DATA_RECORDINGS_H
#define NUC_DATA_RECORDINGS_H

#include "device/base/span.h"
#include "host/context.h"

struct nuc_dataset;
struct nuc_tensor_info;

/* Values of one file: int16 of a .wav file, float32 of a .csv file, whose rows are `axes` wide. */
struct nuc_recording {
    const char *path;
    size_t length, axes; /* points of time, values of each */
    uint32_t rate;       /* samples a second; 0: the file does not say */
    const int16_t *sound;
    const float *values; /* NULL: sound */
};

/* One file in memory; `where` names it in messages. */
struct nuc_recording nuc_read_wav(struct nuc_context *cx, const char *where, struct nuc_span file);
struct nuc_recording nuc_read_csv(struct nuc_context *cx, const char *where, struct nuc_span file);

/*
 * The label track of a recording, FILE.txt beside FILE.wav as Audacity exports it: a line for each label with begin and
 * end in seconds and its name. Returns how many there are.
 */
struct nuc_label {
    double begin, end;
    const char *name;
    size_t line;
};
size_t nuc_read_label_track(struct nuc_context *cx, const char *where, struct nuc_span file, struct nuc_label **labels);

/* The data set when `path` is such a file, or a folder with some and without .npy files, else NULL. */
struct nuc_dataset *nuc_dataset_of_recordings(struct nuc_context *cx, const char *path);

/*
 * Makes arrays of the recordings that the input can take. Sound: one sample each, or a sequence of hops where the model
 * has states, zeros behind what is too short; label tracks become the array label_events. Axes: windows of as many rows
 * as the input has, one behind the other or, as the front end says, a step apart.
 */
void nuc_dataset_fit_recordings(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs);

#endif
