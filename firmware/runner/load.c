/* The program of the image in the memory of the port. */
#include "firmware/runner/runner.h"

#include "port/port.h"
#include "port/print.h"
#include "tables.h"

void *nuc_take(struct nuc_board_memory *m, size_t size)
{
    size_t rounded = (size + NUC_MEMORY_ALIGNMENT - 1) & ~(size_t)(NUC_MEMORY_ALIGNMENT - 1);

    if (rounded > m->left)
        return NULL;
    uint8_t *block = m->at;
    m->at += rounded;
    m->left -= rounded;
    return block;
}

static bool give_memory(struct nuc_board_memory *m, const struct nuc_program_sizes *sizes,
                        struct nuc_program_memory *out)
{
    size_t planned = 0;

    *out = (struct nuc_program_memory){.state = nuc_take(m, sizes->state),
                                       .state_size = sizes->state,
                                       .temporary = nuc_take(m, sizes->temporary),
                                       .temporary_size = sizes->temporary};
    bool given = out->state != NULL && out->temporary != NULL;
    for (size_t i = 0; i < sizes->n_planned; i++) {
        out->planned[i] = nuc_take(m, sizes->planned[i]);
        out->planned_size[i] = sizes->planned[i];
        given = given && out->planned[i] != NULL;
        planned += sizes->planned[i];
    }
    nuc_print_line("memory: planned ", (int64_t)planned, "");
    nuc_print_line(", temporary ", (int64_t)sizes->temporary, "");
    nuc_print_line(", state ", (int64_t)sizes->state, "\n");
    return given;
}

enum nuc_status nuc_find_image(const void **image, size_t *size, struct nuc_detail *detail)
{
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    return nuc_program_in_bundle(nuc_image, (size_t)(nuc_image_end - nuc_image), image, size);
}

enum nuc_status nuc_load_image(struct nuc_program *p, const void *image, size_t size, struct nuc_board_memory *m,
                               struct nuc_detail *detail)
{
    struct nuc_program_sizes sizes;
    struct nuc_program_memory memory;
    struct nuc_tensor out;
    enum nuc_status status = nuc_program_sizes(image, size, &tables_backends, &sizes, detail);

    if (status != NUC_OK)
        return status;
    if (!give_memory(m, &sizes, &memory)) {
        detail->message = "the board's memory is too small for the program";
        return NUC_NO_MEMORY;
    }
    status = nuc_program_load(p, image, size, &memory, &tables_kernels, &tables_backends, detail);
    for (size_t i = 0; status == NUC_OK && i < nuc_program_n_outputs(p); i++) {
        if (nuc_program_output_info(p, i, &out) == NUC_OK && !out.planned && !out.constant)
            status = nuc_program_set_output(p, i, nuc_take(m, out.bytes), out.bytes, detail);
    }
    return status;
}
