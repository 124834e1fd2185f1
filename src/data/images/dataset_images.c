/* A folder of images as the samples of a model's input. */
#include <string.h>
#include <sys/stat.h>

#include "data/class_folders.h"
#include "data/images/camera.h"
#include "host/text.h"

struct nuc_dataset *nuc_dataset_of_images(struct nuc_context *cx, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode) || nuc_holds_arrays(cx, path))
        return NULL;
    const struct nuc_images *images = nuc_list_images(cx, path);
    if (images == NULL)
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: the folder holds neither .npy files nor images (.png, .jpg) nor recordings (.wav, .csv)", path);
    struct nuc_dataset *d = nuc_dataset_of_files(cx, path, images);
    d->images = images;
    return d;
}

/* ---- the order of channels ---- */

/* Each image as `rows` of `columns` elements becomes `columns` rows. */
static void transpose(const struct nuc_tensor_info *info, const uint8_t *from, uint8_t *to, size_t rows, size_t columns)
{
    size_t size = nuc_dtype_size(info->dtype);

    for (size_t n = 0; n < (size_t)info->sizes[0]; n++) {
        size_t first = n * rows * columns;
        for (size_t r = 0; r < rows; r++) {
            for (size_t c = 0; c < columns; c++)
                memcpy(to + (first + c * rows + r) * size, from + (first + r * columns + c) * size, size);
        }
    }
}

void nuc_put_channels_first(const struct nuc_tensor_info *info, const void *from, void *to)
{
    transpose(info, from, to, (size_t)(info->sizes[1] * info->sizes[2]), (size_t)info->sizes[3]);
}

void nuc_put_channels_last(const struct nuc_tensor_info *info, const void *from, void *to)
{
    transpose(info, from, to, (size_t)info->sizes[3], (size_t)(info->sizes[1] * info->sizes[2]));
}

/* ---- binding ---- */

/* "0.485,0.456,0.406", each divided by `unit`. */
static const char *numbers_text(struct nuc_context *cx, const double *numbers, size_t count, double unit)
{
    struct nuc_text text = {.cx = cx};

    for (size_t i = 0; i < count; i++)
        nuc_text_addf(&text, "%s%.6g", i == 0 ? "" : ",", numbers[i] / unit);
    return nuc_text_string(&text);
}

/* What is taken off each channel, or what that is divided by: as it is given, and as calibration had it. */
struct normalization {
    const char *option; /* "mean" */
    const float *given;
    size_t n_given;
    const double *stored; /* NULL: nothing is known */
    size_t n_stored;
    float fallback;
    double most; /* beyond, it is not of pixels divided by 255 */
};

static void compare_with_stored(const struct nuc_dataset *d, const struct normalization *n, const float *taken)
{
    struct nuc_context *cx = d->cx;
    size_t channels = d->format.channels;
    double numbers[3];
    bool same = true;

    for (size_t i = 0; i < channels; i++) {
        double stored = n->stored[n->n_stored == 1 ? 0 : i];
        numbers[i] = (double)taken[i];
        same = same && numbers[i] - stored < 1e-3 && stored - numbers[i] < 1e-3;
    }
    if (same)
        return;
    const char *what =
        nuc_format(cx, "%s: --%s %s is not that of the calibration, %s: leave it out", d->path, n->option,
                   numbers_text(cx, numbers, channels, 1), numbers_text(cx, n->stored, n->n_stored, 1));
    if (!d->options->unlike_calibration)
        nuc_fail(cx, NUC_BAD_USAGE, "%s, or give --unlike-calibration", what);
    nuc_warn(cx, "%s", what);
}

/*
 * One number for each channel, one for all, or none: then those of the calibration, if known. Its numbers, which the
 * reader of the program's metadata has checked, are for the input's channels, else they are of other images.
 */
static void read_normalization(const struct nuc_dataset *d, const struct normalization *n, float *out)
{
    size_t channels = d->format.channels;
    bool stored = n->stored != NULL && (n->n_stored == 1 || n->n_stored == channels);
    double given[3] = {0};

    if (n->n_given > 1 && n->n_given != channels)
        nuc_fail(d->cx, NUC_BAD_USAGE, "%s has %zu numbers, the input %zu channel%s: give one for each, or one",
                 n->option, n->n_given, channels, channels == 1 ? "" : "s");
    for (size_t i = 0; i < n->n_given; i++)
        given[i] = (double)n->given[i];
    for (size_t i = 0; i < n->n_given; i++) {
        if (given[i] > n->most || given[i] < -n->most)
            nuc_fail(d->cx, NUC_BAD_USAGE,
                     "--%s %s is of pixels of 0 to 255, but they are divided by 255 first: give --%s %s", n->option,
                     numbers_text(d->cx, given, n->n_given, 1), n->option, numbers_text(d->cx, given, n->n_given, 255));
    }
    for (size_t i = 0; i < channels; i++) {
        if (n->n_given > 0)
            out[i] = n->given[n->n_given == 1 ? 0 : i];
        else
            out[i] = stored ? (float)n->stored[n->n_stored == 1 ? 0 : i] : n->fallback;
    }
    if (n->n_given > 0 && stored)
        compare_with_stored(d, n, out);
}

static void read_options(struct nuc_dataset *d)
{
    const struct nuc_options *o = d->options;
    const struct nuc_image_metadata *stored =
        d->metadata != NULL && d->metadata->n_images > 0 ? d->metadata->images : NULL;
    const struct normalization mean = {.option = "mean",
                                       .given = o->image_mean,
                                       .n_given = o->n_image_mean,
                                       .stored = stored != NULL ? stored->mean : NULL,
                                       .n_stored = stored != NULL ? stored->n_mean : 0,
                                       .fallback = 0,
                                       .most = 4};
    const struct normalization std = {.option = "std",
                                      .given = o->image_std,
                                      .n_given = o->n_image_std,
                                      .stored = stored != NULL ? stored->std : NULL,
                                      .n_stored = stored != NULL ? stored->n_std : 0,
                                      .fallback = 1,
                                      .most = 8};

    read_normalization(d, &mean, d->format.mean);
    read_normalization(d, &std, d->format.std);
    for (size_t i = 0; i < d->format.channels; i++) {
        if (!(d->format.std[i] > 0))
            nuc_fail(d->cx, NUC_BAD_USAGE, "std is %g: it must be above 0", (double)d->format.std[i]);
    }
    if ((unsigned)o->image_resize > NUC_RESIZE_CROP)
        nuc_fail(d->cx, NUC_BAD_USAGE, "image_resize is %d", (int)o->image_resize);
    const enum nuc_resize known = stored == NULL ? NUC_RESIZE_AUTO : (enum nuc_resize)stored->resize;
    const enum nuc_resize fit = o->image_resize == NUC_RESIZE_AUTO ? known : o->image_resize;
    if (known != NUC_RESIZE_AUTO && known != fit)
        nuc_warn(d->cx, "%s: --resize %s, calibration was with --resize %s", d->path, nuc_resize_words[fit],
                 nuc_resize_words[known]);
    d->format.fit = fit;
}

/*
 * [C, H, W] or [H, W, C], or [N, C, H, W] or [N, H, W, C]: then N images are a sample. Without `turned` the sizes say
 * where the channels are, and where both ends may be they are refused.
 */
void nuc_dataset_bind_images(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                             const bool *turned)
{
    struct nuc_context *cx = d->cx;
    const struct nuc_tensor_info *t = &inputs[0];

    d->camera = n_inputs == 1 && t->dtype == NUC_U8 && d->front_end != NULL ? nuc_camera_of(cx, d->front_end) : NULL;
    if (d->camera != NULL) {
        /* Images become frames of the sensor. */
        const struct nuc_options *o = d->options;
        if (t->bytes != nuc_camera_bytes(d->camera))
            nuc_fail(d->cx, NUC_BAD_INPUT, "%s: input '%s' takes %zu bytes, a frame of its front end has %zu", d->path,
                     t->name, t->bytes, nuc_camera_bytes(d->camera));
        if (o->n_image_mean > 0 || o->n_image_std > 0 || o->image_resize != NUC_RESIZE_AUTO)
            nuc_fail(d->cx, NUC_BAD_USAGE,
                     "%s: --mean, --std and --resize are of images, a front end prepares frames itself: leave them out",
                     d->path);
        d->n_inputs = d->per_sample = 1;
        d->n_samples = d->images->count;
        d->frame = nuc_alloc(d->cx, t->bytes);
        return;
    }
    if (n_inputs != 1)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: images are samples of one input, the model has %zu: give arrays by name",
                 d->path, n_inputs);
    if (t->dtype != NUC_F32 || (t->rank != 3 && t->rank != 4) || t->bytes == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: input '%s' takes no images: they are float32 of rank 3 or 4", d->path,
                 t->name);
    const int64_t *sizes = &t->sizes[t->rank - 3];
    bool first = (turned == NULL || !turned[0]) && (sizes[0] == 1 || sizes[0] == 3);
    bool last = (turned == NULL || turned[0]) && (sizes[2] == 1 || sizes[2] == 3);
    if (first && last)
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: input '%s' has %lld x %lld x %lld elements: where the channels are does not follow from that, "
                 "give arrays",
                 d->path, t->name, (long long)sizes[0], (long long)sizes[1], (long long)sizes[2]);
    if (!first && !last)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: input '%s' has %lld channels: images have 1 or 3", d->path, t->name,
                 (long long)sizes[turned != NULL && turned[0] ? 2 : 0]);
    d->format = (struct nuc_image_format){.channels = (uint32_t)sizes[last ? 2 : 0],
                                          .height = (uint32_t)sizes[last ? 0 : 1],
                                          .width = (uint32_t)sizes[last ? 1 : 2]};
    d->channels_last = last && turned == NULL;
    read_options(d);
    d->per_sample = t->rank == 4 ? (size_t)t->sizes[0] : 1;
    if (d->images->count % d->per_sample != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: %zu images are not a multiple of the %zu that input '%s' takes", d->path,
                 d->images->count, d->per_sample, t->name);
    d->n_inputs = 1;
    d->n_samples = d->images->count / d->per_sample;
    d->sample = nuc_alloc(cx, t->bytes);
    d->image = nuc_alloc(cx, t->bytes / d->per_sample);
}

void nuc_dataset_read_images(const struct nuc_dataset *d, size_t sample, const void **inputs)
{
    size_t elements = (size_t)d->format.channels * d->format.height * d->format.width;
    const struct nuc_tensor_info one = {
        .dtype = NUC_F32, .rank = 4, .sizes = {1, d->format.height, d->format.width, d->format.channels}};

    if (d->camera != NULL) {
        nuc_read_frame(d->cx, d->images->files[sample], d->camera, d->frame);
        inputs[0] = d->frame;
        return;
    }
    for (size_t i = 0; i < d->per_sample; i++) {
        float *to = d->sample + i * elements;
        nuc_read_image(d->cx, d->images->files[sample * d->per_sample + i], &d->format,
                       d->channels_last ? d->image : to);
        if (d->channels_last)
            nuc_put_channels_last(&one, d->image, to);
    }
    inputs[0] = d->sample;
}
