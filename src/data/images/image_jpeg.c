/* JPEG by libjpeg. Its error handler has to leave by longjmp(): it does so to the step under way, never further. */
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

#include "data/images/image_file.h"
#include "host/limits.h"

struct nuc_jpeg {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct nuc_image_file *file;
    bool is_made;
    jmp_buf leave;
};

_Noreturn static void leave_step(j_common_ptr info)
{
    struct nuc_jpeg *j = info->client_data;
    char text[JMSG_LENGTH_MAX];
    union {
        const struct jpeg_common_struct *in;
        j_common_ptr out;
    } common = {info};

    info->err->format_message(common.out, text);
    snprintf(j->file->message, NUC_IMAGE_MESSAGE, "%.*s", NUC_IMAGE_MESSAGE - 1, text);
    j->file->no_memory = info->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(j->leave, 1);
}

/* Warnings are below 0. A file that ends early is one to the library, which makes up the rest; here it is damaged. */
static void judge_warning(j_common_ptr info, int level)
{
    int code = info->err->msg_code;

    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
        leave_step(info);
}

static void bound_scans(j_common_ptr info)
{
    struct nuc_jpeg *j = info->client_data;

    if (j->info.input_scan_number <= NUC_MAX_JPEG_SCANS)
        return;
    snprintf(j->file->message, NUC_IMAGE_MESSAGE, "more than %d scans (the limit)", NUC_MAX_JPEG_SCANS);
    longjmp(j->leave, 1);
}

static void say_nothing(j_common_ptr info)
{
    (void)info;
}

static void release(void *object)
{
    struct nuc_jpeg *j = object;

    if (j->is_made)
        jpeg_destroy_decompress(&j->info);
    j->is_made = false;
}

struct nuc_jpeg *nuc_jpeg_open(struct nuc_context *cx, struct nuc_image_file *file)
{
    struct nuc_jpeg *j = nuc_alloc(cx, sizeof *j);

    j->file = file;
    nuc_defer(cx, release, j);
    j->info.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = leave_step;
    j->errors.emit_message = judge_warning;
    j->errors.output_message = say_nothing;
    j->progress.progress_monitor = bound_scans;
    return j;
}

/* False: images in this colour space are not read. */
static bool choose_colours(struct jpeg_decompress_struct *info, bool grey)
{
    switch ((int)info->jpeg_color_space) {
    case JCS_GRAYSCALE:
        info->out_color_space = JCS_GRAYSCALE;
        return info->num_components == 1;
    case JCS_YCbCr:
        info->out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
        return info->num_components == 3;
    case JCS_RGB:
        info->out_color_space = JCS_RGB;
        return info->num_components == 3;
    case JCS_CMYK:
    case JCS_YCCK:
        info->out_color_space = JCS_CMYK;
        return info->num_components == 4;
    default:
        return false;
    }
}

bool nuc_jpeg_header(struct nuc_jpeg *j, bool grey)
{
    struct nuc_image_file *file = j->file;

    if (setjmp(j->leave) != 0)
        return false;
    j->is_made = true;
    jpeg_create_decompress(&j->info);
    j->info.client_data = j; /* creating it clears it */
    j->info.progress = &j->progress;
    jpeg_mem_src(&j->info, file->bytes.data, (unsigned long)file->bytes.size);
    jpeg_read_header(&j->info, TRUE);
    if (!choose_colours(&j->info, grey)) {
        snprintf(file->message, sizeof file->message, "%d components of an unknown colour space",
                 j->info.num_components);
        return false;
    }
    file->width = j->info.image_width;
    file->height = j->info.image_height;
    file->channels = j->info.out_color_space == JCS_GRAYSCALE ? 1 : j->info.out_color_space == JCS_RGB ? 3 : 4;
    file->is_inverted = j->info.saw_Adobe_marker;
    return true;
}

bool nuc_jpeg_pixels(struct nuc_jpeg *j, uint8_t *pixels)
{
    size_t row = (size_t)j->file->width * j->file->channels;

    if (setjmp(j->leave) != 0)
        return false;
    jpeg_start_decompress(&j->info);
    while (j->info.output_scanline < j->info.output_height) {
        JSAMPROW to = pixels + j->info.output_scanline * row;
        jpeg_read_scanlines(&j->info, &to, 1);
    }
    jpeg_finish_decompress(&j->info);
    return true;
}
