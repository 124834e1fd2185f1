/*
 * A camera's frames in, boxes out, with the program, its front end and its decision as generated C (model.h).
 *
 *     application FRAMES [OUTPUTS]
 *
 * FRAMES: frames back to back. OUTPUTS gets the network's output of each. Prints the boxes of the first frame, and how
 * many there are in all.
 */
#include "../application.h"

static const char *const names[] = MODEL_OUTPUT0_CLASS_NAMES;

static void print_boxes(const struct nuc_decider *d)
{
    for (size_t i = 0; i < d->n_found; i++) {
        const struct nuc_found *box = &d->found[i];
        nuc_port_print(names[box->label]);
        nuc_print_line(" ", (int64_t)(100 * box->score), " %");
        nuc_print_line(" at ", (int64_t)(96 * box->x), "");
        nuc_print_line(" ", (int64_t)(96 * box->y), "");
        nuc_print_line(", ", (int64_t)(96 * box->w), " wide");
        nuc_print_line(", ", (int64_t)(96 * box->h), " high\n");
    }
}

static int watch(int in, int out)
{
    struct nuc_detail detail = {.message = NULL};
    int64_t count = 0, boxes = 0;

    while (nuc_port_read(in, model_input0(), MODEL_INPUT0_BYTES) == MODEL_INPUT0_BYTES) {
        uint32_t begin = nuc_port_instructions();
        const struct nuc_decider *d = model_run(&detail) == NUC_OK ? model_decide() : NULL;
        if (d == NULL)
            return failed(&detail);
        if (count++ == 0) {
            nuc_print_line("execution instructions ", (int64_t)(nuc_port_instructions() - begin), "\n");
            print_boxes(d);
        }
        boxes += (int64_t)d->n_found;
        nuc_port_wait();
        if (out >= 0 && nuc_port_write(out, model_output0(), MODEL_OUTPUT0_BYTES) != 0)
            return 1;
    }
    nuc_print_line("boxes ", boxes, "");
    nuc_print_line(" in ", count, " frames\n");
    return 0;
}
