/* A program in memory of the host: aligned blocks, the simulator's driver, dim orders. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "nucleon/NeutronDriver.h"

static int report_io(const char *path, const char *what)
{
    char text[512];

    snprintf(text, sizeof text, "%s: %s: %s", path, what, strerror(errno));
    return cli_report(NUC_IO, text);
}

/* A block of at least one byte, aligned as the runtime and the driver need it, zeroed. */
static void *aligned_block(size_t size)
{
    size_t rounded = (size + NUC_MEMORY_ALIGNMENT) & ~(size_t)(NUC_MEMORY_ALIGNMENT - 1);
    void *block = aligned_alloc(NUC_MEMORY_ALIGNMENT, rounded);

    if (block != NULL)
        memset(block, 0, rounded);
    return block;
}

static int read_image(struct cli_program *p, const char *path)
{
    struct stat st = {.st_size = 0};
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        return report_io(path, "cannot be opened");
    if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode)) {
        fclose(file);
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return report_io(path, "is not a file");
    }
    p->size = (size_t)st.st_size;
    p->image = aligned_block(p->size);
    bool whole = p->image != NULL && fread(p->image, 1, p->size, file) == p->size;
    fclose(file);
    if (p->image == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    return whole ? CLI_OK : report_io(path, "cannot be read");
}

/* CLI_OK, or one line out of what the runtime says in p->detail. */
static int check(struct cli_program *p, const char *path, enum nuc_status status)
{
    const struct nuc_detail *d = &p->detail;
    char text[1024];

    if (status == NUC_OK)
        return CLI_OK;
    int n = snprintf(text, sizeof text, "%s: %s", path, d->message != NULL ? d->message : nuc_status_name(status));
    if (d->where != NULL)
        n += snprintf(text + n, sizeof text - (size_t)n, ", at %.80s", d->where);
    if (d->instruction >= 0)
        n += snprintf(text + n, sizeof text - (size_t)n, ", instruction %d", (int)d->instruction);
    if (d->value >= 0)
        n += snprintf(text + n, sizeof text - (size_t)n, ", value %d", (int)d->value);
    if (d->code != 0)
        snprintf(text + n, sizeof text - (size_t)n, ", driver code 0x%x", (unsigned)d->code);
    return cli_report(status, text);
}

/* Where the runtime leaves what goes wrong in the next call. */
static struct nuc_detail *fresh_detail(struct cli_program *p)
{
    p->detail = (struct nuc_detail){.instruction = -1, .value = -1};
    return &p->detail;
}

static bool give_memory(struct cli_program *p)
{
    struct nuc_program_memory *m = &p->memory;

    m->state_size = p->sizes.state;
    m->state = aligned_block(p->sizes.state);
    m->temporary_size = p->sizes.temporary;
    m->temporary = aligned_block(p->sizes.temporary);
    bool given = m->state != NULL && m->temporary != NULL;
    for (size_t i = 0; i < p->sizes.n_planned; i++) {
        m->planned_size[i] = p->sizes.planned[i];
        m->planned[i] = aligned_block(p->sizes.planned[i]);
        given = given && m->planned[i] != NULL;
    }
    return given;
}

static int describe(enum nuc_status s, const struct nuc_tensor *t, const struct cli_io *io, struct nuc_tensor_info *out)
{
    *out = (struct nuc_tensor_info){.name = io->name};
    if (s != NUC_OK)
        return cli_report(NUC_UNSUPPORTED, "the program has an input or output that is not a tensor");
    out->dtype = io->as_float ? NUC_F32 : (enum nuc_dtype)t->dtype;
    out->rank = t->rank;
    out->bytes = io->as_float ? t->bytes * sizeof(float) : t->bytes;
    for (size_t i = 0; i < t->rank && i < NUC_MAX_RANK; i++) {
        out->sizes[i] = t->sizes[i];
        out->dim_order[i] = t->dim_order[i];
    }
    return CLI_OK;
}

/* Quantization of an int8 input or output, when the program gives it. */
static void read_quantization(const struct cli_program *p, const char *kind, size_t index, struct cli_io *io)
{
    const struct {
        const char *key;
        double *value;
    } numbers[] = {
        {"scale", &io->scale}, {"zp", &io->zero_point}, {"quant_min", &io->quant_min}, {"quant_max", &io->quant_max}};

    io->quantized = true;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s%zu_%s", kind, index, numbers[i].key);
        io->quantized &= nuc_program_number(p->image, p->size, name, numbers[i].value, NULL) == NUC_OK;
    }
    io->quantized = io->quantized && io->scale > 0;
}

int cli_program_input(const struct cli_program *p, size_t index, struct nuc_tensor_info *out)
{
    struct nuc_tensor t;
    enum nuc_status s = nuc_program_input_info(&p->program, index, &t);

    return describe(s, &t, &p->inputs[index], out);
}

int cli_program_output(const struct cli_program *p, size_t index, struct nuc_tensor_info *out)
{
    struct nuc_tensor t;
    enum nuc_status s = nuc_program_output_info(&p->program, index, &t);

    return describe(s, &t, &p->outputs[index], out);
}

void cli_program_float_outputs(struct cli_program *p)
{
    for (size_t i = 0; i < nuc_program_n_outputs(&p->program); i++)
        p->outputs[i].as_float = p->outputs[i].quantized;
}

void cli_program_suit(struct cli_program *p, const struct nuc_dataset *data)
{
    bool any = false;

    for (size_t i = 0; i < nuc_dataset_n_arrays(data); i++) {
        struct nuc_array_info a;
        if (nuc_dataset_array(data, i, &a) == NUC_OK && a.dtype == NUC_I8)
            return;
    }
    for (size_t i = 0; i < nuc_program_n_inputs(&p->program); i++) {
        p->inputs[i].as_float = p->inputs[i].quantized;
        any |= p->inputs[i].quantized;
    }
    if (any)
        cli_program_float_outputs(p);
}

/* A block for the physical bytes of an input, or of an output that the program leaves to its caller. */
static void make_io(const struct cli_program *p, bool is_input, size_t index, struct cli_io *io)
{
    struct nuc_tensor t;
    enum nuc_status s =
        is_input ? nuc_program_input_info(&p->program, index, &t) : nuc_program_output_info(&p->program, index, &t);

    snprintf(io->name, sizeof io->name, "%s%zu", is_input ? "in" : "out", index);
    if (s != NUC_OK)
        return;
    if (t.dtype == NUC_I8)
        read_quantization(p, is_input ? "input" : "output", index, io);
    io->bytes = t.bytes;
    if (is_input || (!t.planned && !t.constant))
        io->block = aligned_block(t.bytes);
}

static int give_io(struct cli_program *p, const char *path)
{
    size_t n_inputs = nuc_program_n_inputs(&p->program), n_outputs = nuc_program_n_outputs(&p->program);
    int code = CLI_OK;

    p->inputs = calloc(n_inputs + 1, sizeof *p->inputs);
    p->outputs = calloc(n_outputs + 1, sizeof *p->outputs);
    if (p->inputs == NULL || p->outputs == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    for (size_t i = 0; i < n_inputs; i++)
        make_io(p, true, i, &p->inputs[i]);
    for (size_t i = 0; i < n_outputs && code == CLI_OK; i++) {
        struct cli_io *io = &p->outputs[i];
        make_io(p, false, i, io);
        if (io->block != NULL)
            code = check(p, path, nuc_program_set_output(&p->program, i, io->block, io->bytes, fresh_detail(p)));
    }
    return code;
}

/* One element: copied, or between float32 outside and int8 inside. */
struct element_move {
    size_t outside, inside; /* bytes */
    const struct cli_io *io;
};

static void move_in(const struct element_move *m, const char *from, char *to)
{
    float value;

    if (!m->io->as_float) {
        memcpy(to, from, m->inside);
        return;
    }
    memcpy(&value, from, sizeof value);
    /* quantized_decomposed::quantize_per_tensor multiplies by the reciprocal in float32. */
    double q = nearbyint((double)(value * (1.0f / (float)m->io->scale))) + m->io->zero_point;
    q = q > m->io->quant_min ? q : m->io->quant_min;
    *(signed char *)to = (signed char)(q < m->io->quant_max ? q : m->io->quant_max);
}

static void move_out(const struct element_move *m, const char *from, char *to)
{
    if (!m->io->as_float) {
        memcpy(to, from, m->inside);
        return;
    }
    float value = (float)((double)*(const signed char *)from - m->io->zero_point) * (float)m->io->scale;
    memcpy(to, &value, sizeof value);
}

/*
 * Walks the tensor in logical order; physical strides follow from the dim order. `outside` is in logical order,
 * `inside` are the program's bytes.
 */
static void rearrange(const struct nuc_tensor_info *t, const struct cli_io *io, char *outside, char *inside, bool in)
{
    size_t size = nuc_dtype_size(t->dtype);
    const struct element_move move = {size, io->as_float ? 1 : size, io};
    int64_t strides[NUC_MAX_RANK] = {0}, index[NUC_MAX_RANK] = {0};
    int64_t stride = 1;
    size_t at = 0;

    for (size_t i = t->rank; i-- > 0;) {
        strides[t->dim_order[i]] = stride;
        stride *= t->sizes[t->dim_order[i]];
    }
    for (size_t logical = 0; logical * size < t->bytes; logical++) {
        char *out_there = outside + logical * size, *in_here = inside + at * move.inside;
        if (in)
            move_in(&move, out_there, in_here);
        else
            move_out(&move, in_here, out_there);
        for (size_t d = t->rank; d-- > 0;) {
            at += (size_t)strides[d];
            if (++index[d] < t->sizes[d])
                break;
            at -= (size_t)(strides[d] * t->sizes[d]);
            index[d] = 0;
        }
    }
}

static int set_input(struct cli_program *p, const char *path, size_t index, const void *data)
{
    struct cli_io *io = &p->inputs[index];
    struct nuc_tensor_info info;
    int code = cli_program_input(p, index, &info);

    if (code != CLI_OK)
        return code;
    if (io->block == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    rearrange(&info, io, (char *)(uintptr_t)data, io->block, true);
    return check(p, path, nuc_program_set_input(&p->program, index, io->block, io->bytes, fresh_detail(p)));
}

static int get_output(struct cli_program *p, size_t index, void *to)
{
    struct nuc_tensor t;
    struct nuc_tensor_info info;
    int code = cli_program_output(p, index, &info);

    if (code != CLI_OK)
        return code;
    if (nuc_program_output(&p->program, index, &t) != NUC_OK || t.data == NULL)
        return cli_report(NUC_UNSUPPORTED, "the program leaves an output to the caller, or it is not a tensor");
    rearrange(&info, &p->outputs[index], to, t.data, false);
    return CLI_OK;
}

int cli_program_run(struct cli_program *p, const char *path, const void *const *inputs, void *const *outputs)
{
    int code = CLI_OK;

    for (size_t i = 0; i < nuc_program_n_inputs(&p->program) && code == CLI_OK; i++)
        code = set_input(p, path, i, inputs[i]);
    if (code == CLI_OK)
        code = check(p, path, nuc_program_execute(&p->program, fresh_detail(p)));
    for (size_t i = 0; i < nuc_program_n_outputs(&p->program) && code == CLI_OK; i++)
        code = get_output(p, i, outputs[i]);
    return code;
}

/* Everything after reading: p->image and p->size are there. */
static int prepare(struct cli_program *p, const char *name)
{
    p->driver = neutronInit() == 0;
    int code = check(p, name, nuc_program_sizes(p->image, p->size, &nuc_default_backends, &p->sizes, fresh_detail(p)));
    if (code != CLI_OK)
        return code;
    if (!give_memory(p))
        return cli_report(NUC_NO_MEMORY, "the program's memory plan does not fit this machine's memory");
    code = check(p, name,
                 nuc_program_load(&p->program, p->image, p->size, &p->memory, &nuc_default_kernels,
                                  &nuc_default_backends, fresh_detail(p)));
    if (code != CLI_OK)
        return code;
    p->loaded = true;
    return give_io(p, name);
}

void cli_print_memory(const char *path)
{
    struct cli_program p = {.image = NULL};
    size_t planned = 0;

    if (read_image(&p, path) == CLI_OK && p.size >= 8 && memcmp(p.image + 4, "ET12", 4) == 0 &&
        nuc_program_sizes(p.image, p.size, &nuc_default_backends, &p.sizes, &p.detail) == NUC_OK) {
        for (size_t i = 0; i < p.sizes.n_planned; i++)
            planned += p.sizes.planned[i];
        printf(
            "memory of the runtime: state %zu, planned %zu, temporary %zu bytes (scratch and what else a call takes)\n",
            p.sizes.state, planned, p.sizes.temporary);
    }
    free(p.image);
}

int cli_program_open(struct cli_program *p, const char *path)
{
    memset(p, 0, sizeof *p);
    int code = read_image(p, path);
    return code == CLI_OK ? prepare(p, path) : code;
}

int cli_program_open_bytes(struct cli_program *p, const char *name, const void *bytes, size_t size)
{
    memset(p, 0, sizeof *p);
    p->size = size;
    p->image = aligned_block(size);
    if (p->image == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    memcpy(p->image, bytes, size);
    return prepare(p, name);
}

static void free_io(struct cli_io *io, size_t count)
{
    for (size_t i = 0; io != NULL && i < count; i++)
        free(io[i].block);
    free(io);
}

void cli_program_close(struct cli_program *p)
{
    if (p->loaded)
        nuc_program_unload(&p->program);
    if (p->driver)
        neutronDeinit();
    free_io(p->inputs, p->loaded ? nuc_program_n_inputs(&p->program) : 0);
    free_io(p->outputs, p->loaded ? nuc_program_n_outputs(&p->program) : 0);
    for (size_t i = 0; i < NUC_MAX_MEMORIES; i++)
        free(p->memory.planned[i]);
    free(p->memory.state);
    free(p->memory.temporary);
    free(p->image);
}
