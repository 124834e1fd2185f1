/* A folder of images as the samples of a model's input. */
#include <string.h>
#include <sys/stat.h>

#include "driver/dataset.h"
#include "host/text.h"

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The class of each image, where the folder has classes, as the array 'label'. */
static struct nuc_arrays label_array(struct nuc_context *cx, const struct nuc_images *images)
{
    struct nuc_arrays arrays = {0, NULL};

    if (images->labels == NULL)
        return arrays;
    arrays.count = 1;
    arrays.items = nuc_alloc(cx, sizeof *arrays.items);
    arrays.items[0] = (struct nuc_array){
        .name = "label",
        .dtype = NUC_I64,
        .rank = 1,
        .shape = {(int64_t)images->count},
        .data = {(const uint8_t *)images->labels, images->count * sizeof *images->labels},
    };
    return arrays;
}

struct nuc_dataset *nuc_dataset_of_images(struct nuc_compiler *c, const char *path)
{
    if (!is_folder(path) || nuc_holds_arrays(c->cx, path))
        return NULL;
    const struct nuc_images *images = nuc_list_images(c->cx, path);
    if (images == NULL)
        nuc_fail(c->cx, NUC_BAD_INPUT, "%s: the folder holds neither .npy files nor PNG or JPEG images", path);
    struct nuc_dataset *d = nuc_alloc(c->cx, sizeof *d);
    d->c = c;
    d->path = nuc_strdup(c->cx, path);
    d->images = images;
    d->arrays = label_array(c->cx, images);
    return d;
}

/* ---- binding ---- */

/* "0.485,0.456,0.406", each divided by `unit`. */
static const char *numbers_text(struct nuc_context *cx, const double *numbers, size_t count, double unit)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    for (size_t i = 0; i < count; i++)
        nuc_text_addf(&text, "%s%.6g", i == 0 ? "" : ",", numbers[i] / unit);
    return nuc_text_string(&text);
}

/* What is given for the channels, and what the program was calibrated with. */
struct channels {
    const char *what; /* "mean" */
    const float *given;
    size_t n_given;
    const double *stored; /* NULL: nothing is known */
    size_t n_stored;
    float fallback;
    double most; /* beyond, it is not of pixels divided by 255 */
};

/* Numbers that the reader of the program's facts has checked, for the input's channels: else they are of other images.
 */
static bool is_stored(const struct nuc_dataset *d, const struct channels *c)
{
    return c->stored != NULL && (c->n_stored == 1 || c->n_stored == d->format.channels);
}

static void check_unit(const struct nuc_dataset *d, const struct channels *c, const double *given)
{
    for (size_t i = 0; i < c->n_given; i++) {
        if (given[i] <= c->most && given[i] >= -c->most)
            continue;
        nuc_fail(d->c->cx, NUC_BAD_USAGE,
                 "--%s %s is of pixels of 0 to 255, but they are divided by 255 first: give --%s %s", c->what,
                 numbers_text(d->c->cx, given, c->n_given, 1), c->what, numbers_text(d->c->cx, given, c->n_given, 255));
    }
}

static void compare_with_stored(const struct nuc_dataset *d, const struct channels *c, const float *taken)
{
    struct nuc_context *cx = d->c->cx;
    size_t channels = d->format.channels;
    double numbers[3];
    bool same = true;

    for (size_t i = 0; i < channels; i++) {
        double stored = c->stored[c->n_stored == 1 ? 0 : i];
        numbers[i] = (double)taken[i];
        same = same && numbers[i] - stored < 1e-3 && stored - numbers[i] < 1e-3;
    }
    if (same)
        return;
    const char *what = nuc_format(cx, "%s: --%s %s is not that of the calibration, %s: leave it out", d->path, c->what,
                                  numbers_text(cx, numbers, channels, 1), numbers_text(cx, c->stored, c->n_stored, 1));
    if (!d->c->options.unlike_calibration)
        nuc_fail(cx, NUC_BAD_USAGE, "%s, or give --unlike-calibration", what);
    nuc_warn(cx, "%s", what);
}

/* One number for each channel, one for all, or none: then those of the calibration, if known. */
static void read_channels(const struct nuc_dataset *d, const struct channels *c, float *out)
{
    size_t channels = d->format.channels;
    double given[3] = {0};

    if (c->n_given > 1 && c->n_given != channels)
        nuc_fail(d->c->cx, NUC_BAD_USAGE, "%s has %zu numbers, the input %zu channel%s: give one for each, or one",
                 c->what, c->n_given, channels, channels == 1 ? "" : "s");
    for (size_t i = 0; i < c->n_given; i++)
        given[i] = (double)c->given[i];
    check_unit(d, c, given);
    for (size_t i = 0; i < channels; i++) {
        if (c->n_given > 0)
            out[i] = c->given[c->n_given == 1 ? 0 : i];
        else
            out[i] = is_stored(d, c) ? (float)c->stored[c->n_stored == 1 ? 0 : i] : c->fallback;
    }
    if (c->n_given > 0 && is_stored(d, c))
        compare_with_stored(d, c, out);
}

static enum nuc_resize resize_of(const struct nuc_dataset *d, const struct nuc_facts_of_images *stored)
{
    enum nuc_resize given = d->c->options.image_resize;
    enum nuc_resize known = stored == NULL ? NUC_RESIZE_AUTO : (enum nuc_resize)stored->resize;

    if (given == NUC_RESIZE_AUTO)
        return known;
    if (known != NUC_RESIZE_AUTO && known != given)
        nuc_warn(d->c->cx, "%s: --resize %s, calibration was with --resize %s", d->path, nuc_resize_words[given],
                 nuc_resize_words[known]);
    return given;
}

static void read_options(struct nuc_dataset *d)
{
    static const enum nuc_image_fit fits[] = {
        [NUC_RESIZE_AUTO] = NUC_FIT_EXACT,
        [NUC_RESIZE_NONE] = NUC_FIT_EXACT,
        [NUC_RESIZE_STRETCH] = NUC_FIT_STRETCH,
        [NUC_RESIZE_CROP] = NUC_FIT_CROP,
    };
    const struct nuc_options *o = &d->c->options;
    const struct nuc_facts_of_images *stored = d->facts != NULL && d->facts->n_images > 0 ? d->facts->images : NULL;
    const struct channels mean = {.what = "mean",
                                  .given = o->image_mean,
                                  .n_given = o->n_image_mean,
                                  .stored = stored != NULL ? stored->mean : NULL,
                                  .n_stored = stored != NULL ? stored->n_mean : 0,
                                  .fallback = 0,
                                  .most = 4};
    const struct channels std = {.what = "std",
                                 .given = o->image_std,
                                 .n_given = o->n_image_std,
                                 .stored = stored != NULL ? stored->std : NULL,
                                 .n_stored = stored != NULL ? stored->n_std : 0,
                                 .fallback = 1,
                                 .most = 8};

    read_channels(d, &mean, d->format.mean);
    read_channels(d, &std, d->format.std);
    for (size_t i = 0; i < d->format.channels; i++) {
        if (!(d->format.std[i] > 0))
            nuc_fail(d->c->cx, NUC_BAD_USAGE, "std is %g: it must be above 0", (double)d->format.std[i]);
    }
    if ((unsigned)o->image_resize >= sizeof fits / sizeof fits[0])
        nuc_fail(d->c->cx, NUC_BAD_USAGE, "image_resize is %d", (int)o->image_resize);
    d->resize = resize_of(d, stored);
    d->format.fit = fits[d->resize];
}

static bool are_channels(int64_t size)
{
    return size == 1 || size == 3;
}

/* Whether the channels are the last of the sizes of an image. Both may be: then it is refused. */
static bool find_channels(const struct nuc_dataset *d, const struct nuc_tensor_info *t, enum nuc_image_order order)
{
    const int64_t *sizes = &t->sizes[t->rank - 3];
    bool first = order != NUC_IMAGES_CHANNELS_LAST && are_channels(sizes[0]);
    bool last = order != NUC_IMAGES_CHANNELS_FIRST && are_channels(sizes[2]);

    if (first && last)
        nuc_fail(d->c->cx, NUC_BAD_INPUT,
                 "%s: input '%s' has %lld x %lld x %lld elements: where the channels are does not follow from that, "
                 "give arrays",
                 d->path, t->name, (long long)sizes[0], (long long)sizes[1], (long long)sizes[2]);
    if (!first && !last)
        nuc_fail(d->c->cx, NUC_BAD_INPUT, "%s: input '%s' has %lld channels: images have 1 or 3", d->path, t->name,
                 (long long)sizes[order == NUC_IMAGES_CHANNELS_LAST ? 2 : 0]);
    return last;
}

/* [C, H, W] or [H, W, C], or [N, C, H, W] or [N, H, W, C]: then N images are a sample. */
void nuc_dataset_bind_images(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                             enum nuc_image_order order)
{
    struct nuc_context *cx = d->c->cx;

    if (n_inputs != 1)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: images are samples of one input, the model has %zu: give arrays by name",
                 d->path, n_inputs);
    const struct nuc_tensor_info *t = &inputs[0];
    if (t->dtype != NUC_F32 || (t->rank != 3 && t->rank != 4) || t->bytes == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: input '%s' takes no images: they are float32 of rank 3 or 4", d->path,
                 t->name);
    const int64_t *sizes = &t->sizes[t->rank - 3];
    d->channels_last = find_channels(d, t, order);
    size_t channels = d->channels_last ? 2 : 0, rows = d->channels_last ? 0 : 1;
    d->format = (struct nuc_image_format){
        .channels = (uint32_t)sizes[channels], .height = (uint32_t)sizes[rows], .width = (uint32_t)sizes[rows + 1]};
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

    for (size_t i = 0; i < d->per_sample; i++) {
        float *to = d->sample + i * elements;
        nuc_read_image(d->c->cx, d->images->files[sample * d->per_sample + i], &d->format,
                       d->channels_last ? d->image : to);
        if (d->channels_last)
            nuc_put_channels_last(&one, d->image, to);
    }
    inputs[0] = d->sample;
}
