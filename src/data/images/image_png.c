/* PNG by libpng, which checks the checksum of every chunk. Errors leave by longjmp() to the step under way. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "data/images/image_file.h"

/* Ancillary chunks, text and profiles, are not needed: none may be large, and few are kept. */
#define MAX_CHUNK (1u << 20)
#define MAX_CHUNKS 64

struct nuc_png {
    png_structp reader;
    png_infop info;
    struct nuc_image_file *file;
    size_t at; /* bytes read */
    jmp_buf leave;
};

_Noreturn static void leave_step(png_structp reader, png_const_charp message)
{
    struct nuc_png *p = png_get_error_ptr(reader);

    snprintf(p->file->message, NUC_IMAGE_MESSAGE, "%.*s", NUC_IMAGE_MESSAGE - 1, message);
    longjmp(p->leave, 1);
}

static void say_nothing(png_structp reader, png_const_charp message)
{
    (void)reader;
    (void)message;
}

static void take_bytes(png_structp reader, png_bytep to, size_t size)
{
    struct nuc_png *p = png_get_io_ptr(reader);
    struct nuc_span part;

    if (!nuc_span_slice(p->file->bytes, p->at, size, &part))
        leave_step(reader, "the file ends early");
    memcpy(to, part.data, size);
    p->at += size;
}

/* The library says what memory was for, and in different words that there was none. */
static png_voidp allocate(png_structp reader, png_alloc_size_t size)
{
    struct nuc_image_file *file = png_get_mem_ptr(reader);
    void *block = malloc(size);

    if (block == NULL)
        file->no_memory = true;
    return block;
}

static void release_block(png_structp reader, png_voidp block)
{
    (void)reader;
    free(block);
}

static void release(void *object)
{
    struct nuc_png *p = object;

    if (p->reader != NULL)
        png_destroy_read_struct(&p->reader, &p->info, NULL);
}

struct nuc_png *nuc_png_open(struct nuc_context *cx, struct nuc_image_file *file)
{
    struct nuc_png *p = nuc_alloc(cx, sizeof *p);

    p->file = file;
    nuc_defer(cx, release, p);
    return p;
}

bool nuc_png_header(struct nuc_png *p)
{
    struct nuc_image_file *file = p->file;

    if (setjmp(p->leave) != 0)
        return false;
    p->reader =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, p, leave_step, say_nothing, file, allocate, release_block);
    p->info = p->reader == NULL ? NULL : png_create_info_struct(p->reader);
    if (p->info == NULL) {
        snprintf(file->message, sizeof file->message, "out of memory");
        file->no_memory = true;
        return false;
    }
    png_set_read_fn(p->reader, p, take_bytes);
    png_set_user_limits(p->reader, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* the caller has its own */
    png_set_chunk_malloc_max(p->reader, MAX_CHUNK);
    png_set_chunk_cache_max(p->reader, MAX_CHUNKS);
    png_read_info(p->reader, p->info);
    file->width = png_get_image_width(p->reader, p->info);
    file->height = png_get_image_height(p->reader, p->info);
    file->channels = (png_get_color_type(p->reader, p->info) & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
    return true;
}

bool nuc_png_pixels(struct nuc_png *p, uint8_t *pixels, uint8_t **rows)
{
    const struct nuc_image_file *file = p->file;
    size_t row = (size_t)file->width * file->channels;

    if (setjmp(p->leave) != 0)
        return false;
    png_set_expand(p->reader);
    png_set_strip_16(p->reader);
    png_set_strip_alpha(p->reader);
    png_set_interlace_handling(p->reader);
    png_read_update_info(p->reader, p->info);
    if (png_get_rowbytes(p->reader, p->info) != row)
        leave_step(p->reader, "its rows have another length than its header says");
    for (uint32_t y = 0; y < file->height; y++)
        rows[y] = pixels + y * row;
    png_read_image(p->reader, rows);
    png_read_end(p->reader, NULL);
    return true;
}
