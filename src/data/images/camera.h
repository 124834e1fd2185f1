/*
 * The front end of a camera as it is described: {"image": {...}} of a front end's JSON (docs/applications.md). What it
 * computes with, and images as the frames that the sensor would give.
 */
#ifndef NUC_DATA_IMAGES_CAMERA_H
#define NUC_DATA_IMAGES_CAMERA_H

#include "algorithms/resampling.h"
#include "archive/json.h"
#include "data/images/images.h"
#include "device/signal/frame.h"

struct nuc_camera {
    enum nuc_pixel_format pixels;
    enum nuc_colours channels; /* of the network's input */
    uint32_t width, height;    /* of the frame */
    bool is_centred;           /* the largest part in the middle with the proportions of the input */
    uint32_t crop[4];          /* else x, y, width and height */
    enum nuc_filter filter;
    size_t n_mean, n_std; /* 1, or one for each channel of the input, in its order */
    double mean[3], std[3];
};

/* The member "image", checked; fails with its place in the file. */
const struct nuc_camera *nuc_camera_read(const struct nuc_json *image);

/* That of a whole front end's text, NULL: it is none of a camera. */
const struct nuc_camera *nuc_camera_of(struct nuc_context *cx, const char *front_end);

/* Whether a file's name says that it holds raw frames: it ends in the word of a format. */
bool nuc_is_frame_file(const char *path);

/* Fails where such a file has frames of another format by its name, or not whole ones. */
void nuc_expect_frames(struct nuc_context *cx, const char *path, size_t bytes, const struct nuc_camera *c);

static inline size_t nuc_camera_bytes(const struct nuc_camera *c)
{
    return nuc_frame_bytes(c->pixels, c->width, c->height);
}

/*
 * What is computed with, for an input of that size: taps and a table of float32, (p / 255 - mean) / std of each pixel
 * value p, as --mean and --std make it. Steps of the result are those of `channels_last` or its opposite.
 */
struct nuc_camera_input {
    uint32_t width, height;
    bool channels_last;
};
const struct nuc_frame_input *nuc_camera_prepare(struct nuc_context *cx, const struct nuc_camera *camera,
                                                 const struct nuc_camera_input *input);

/*
 * The frame of an image file: its largest centred part with the proportions of the frame, scaled to it as
 * `--resize crop` scales, in the sensor's format. Colours of YUV are those of JPEG files, of two pixels their mean.
 */
void nuc_read_frame(struct nuc_context *cx, const char *path, const struct nuc_camera *camera, uint8_t *frame);

#endif
