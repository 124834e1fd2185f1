/*
 * The program file as bytes: header, segments, and the tables of its first method. Everything is read through the
 * bounded reader; a field that contradicts the format raises `bad` there, which nuc_image_ok() reports.
 */
#ifndef NUC_DEVICE_RUNTIME_IMAGE_H
#define NUC_DEVICE_RUNTIME_IMAGE_H

#include "device/base/flatbuf.h"
#include "device/base/program_schema.h"
#include "nucleon/runtime.h"

struct nuc_image {
    struct nuc_fb_reader reader; /* over the program proper */
    struct nuc_span file;
    struct nuc_span segment_data; /* from the segments' base to the end of the last one; size 0: none */
    struct nuc_fb_table program, plan;
    struct nuc_fb_vector values, operators, delegates, instructions, inputs, outputs, buffer_sizes;
    struct nuc_fb_vector segments, constant_offsets, constant_buffers;
    struct nuc_span constants; /* the segment that holds them */
    struct nuc_detail *detail;
};

/* Opens the image and its method; false with a message when it cannot be. */
bool nuc_image_open(struct nuc_image *im, const void *image, size_t size, struct nuc_detail *detail);

/* Notes the message when the condition does not hold; returns the condition. */
bool nuc_image_need(struct nuc_image *im, bool condition, const char *message);

/* False with a message when the reader met a contradiction. */
bool nuc_image_ok(struct nuc_image *im);

/* Bytes of segment `index`. */
bool nuc_image_segment(struct nuc_image *im, uint32_t index, struct nuc_span *out);

/* The payload of delegate `index` and its backend's name. */
bool nuc_image_delegate(struct nuc_image *im, uint32_t index, const char **id, struct nuc_span *processed);

/* Where the program plans for the scratch of delegate `index`: offset in the first planned memory, -1: it does not. */
bool nuc_image_scratch(struct nuc_image *im, uint32_t index, int64_t *offset);

/* Bytes of memory `memory` (from 0), as planned. */
bool nuc_image_planned(struct nuc_image *im, uint32_t memory, size_t *bytes);

/* Constant data from entry `buffer` on: `bytes` of it. */
bool nuc_image_constant(struct nuc_image *im, uint32_t buffer, size_t bytes, struct nuc_span *out);

/* Initial data of a planned tensor. */
bool nuc_image_initial(struct nuc_image *im, uint32_t buffer, size_t bytes, struct nuc_span *out);

#endif
