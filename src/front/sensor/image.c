/* "image": the frame of a camera. */
#include "data/images/camera.h"
#include "front/sensor/sensor.h"
#include "ir/args.h"
#include "rewrite/insert.h"

/* Where the input has its channels: innermost, or in front of rows and columns. */
static uint32_t channel_dim(const struct nuc_front_end *f, const struct nuc_json *description,
                            const struct nuc_camera *camera)
{
    const struct nuc_meta *m = &f->wanted;
    const int64_t channels = camera->channels == NUC_CHANNELS_GREY ? 1 : 3;
    const bool is_one = (m->rank == 3 || (m->rank == 4 && m->sizes[0] == 1));

    if (is_one && m->sizes[m->rank - 3] == channels)
        return m->rank - 3u;
    if (!is_one || m->sizes[m->rank - 1] != channels)
        nuc_front_end_misfit(f, description, channels == 1 ? "one image of 1 channel" : "one image of 3 channels");
    return m->rank - 1u;
}

static struct nuc_arg taps_arg(struct nuc_front_end *f, const char *name, const struct nuc_frame_taps *taps)
{
    const int64_t sizes[2] = {(int64_t)taps->count, (int64_t)taps->stride};
    const struct nuc_meta meta = nuc_meta_make(NUC_I32, sizes, 2);

    return nuc_node_arg(nuc_add_constant(f->g, name, &meta, taps->words));
}

struct nuc_node *nuc_build_image(struct nuc_front_end *f, const struct nuc_json *description)
{
    const struct nuc_camera *camera = nuc_camera_read(description);
    const uint32_t channels = channel_dim(f, description, camera), rank = f->wanted.rank;
    const uint32_t rows = channels == rank - 1 ? rank - 3 : rank - 2;
    const struct nuc_camera_input input = {.width = (uint32_t)f->wanted.sizes[rows + 1],
                                           .height = (uint32_t)f->wanted.sizes[rows]};
    const int64_t bytes = (int64_t)nuc_camera_bytes(camera);
    const struct nuc_meta frame = nuc_meta_make(NUC_U8, &bytes, 1);

    if (f->wanted.sizes[rows] > NUC_FRAME_LONGEST || f->wanted.sizes[rows + 1] > NUC_FRAME_LONGEST)
        nuc_front_end_misfit(f, description, "images of at most 16384 rows and columns");
    const struct nuc_frame_input *p = nuc_camera_prepare(f->g->cx, camera, &input);
    const int64_t table_sizes[2] = {p->one_table ? 1 : f->wanted.sizes[channels], 256};
    const struct nuc_meta table = nuc_meta_make(NUC_F32, table_sizes, 2);
    const int64_t numbers[] = {camera->pixels, camera->channels, camera->width, camera->height, rank, channels};
    const struct nuc_arg x = nuc_node_arg(nuc_front_end_input(f, "frame", &frame));
    const struct nuc_arg of_columns = taps_arg(f, "columns", &p->columns), of_rows = taps_arg(f, "rows", &p->rows);
    const struct nuc_arg values = nuc_node_arg(nuc_add_constant(f->g, "values", &table, p->table));

    return nuc_emit(f->g, f->before, NUC_OP_PREPARE_FRAME, f->before,
                    NUC_ARGS(x, of_columns, of_rows, values, nuc_ints_arg(numbers, sizeof numbers / sizeof *numbers)));
}
