/*
 * Runs the program of the image on samples and prints what it cost.
 *
 *     runner [INPUT [OUTPUT]]
 *
 * INPUT: samples back to back in the order of the input's memory, or an .npy file in the order of its dimensions.
 * Without it the samples embedded in the image are taken, or one of zeros. OUTPUT gets output 0 of each sample, in the
 * order of its memory; without it the first sample's outputs are printed. For the first sample every operator's
 * instructions are printed, then those of a whole execution.
 */
#include "firmware/runner/runner.h"

#include <string.h>

#include "port/port.h"
#include "port/print.h"
#include "tables.h"

#define NPY_HEADER 10 /* magic, version, length of the text after them */

static int failed(const char *what, enum nuc_status status, const struct nuc_detail *d)
{
    nuc_port_print("runner: ");
    nuc_port_print(what);
    nuc_port_print(": ");
    nuc_port_print(d->message != NULL ? d->message : nuc_status_name(status));
    if (d->argument != NULL) {
        nuc_port_print(": ");
        nuc_port_print(d->argument);
    }
    if (d->where != NULL) {
        nuc_port_print(", at ");
        nuc_port_print(d->where);
    }
    nuc_print_line(", instruction ", d->instruction, "\n");
    return 1;
}

/* ---- samples ---- */

struct samples {
    int file; /* -1: embedded */
    const uint8_t *embedded;
    size_t embedded_left;
    bool logical; /* in the order of the dimensions */
    char type[2]; /* of an .npy file's elements: "f4" */
    bool cut;     /* the file ends inside a sample */
};

static bool read_samples(struct samples *s, void *data, size_t size)
{
    if (s->file >= 0) {
        size_t n = nuc_port_read(s->file, data, size);
        s->cut = n != 0 && n != size;
        return n == size;
    }
    if (s->embedded_left < size)
        return false;
    memcpy(data, s->embedded, size);
    s->embedded += size;
    s->embedded_left -= size;
    return true;
}

/* The header begins with {'descr': '<f4', where NumPy wrote it. */
static bool fits(const struct samples *s, enum nuc_dtype dtype)
{
    static const char types[][3] = {[NUC_F32] = "f4", [NUC_I8] = "i1",  [NUC_U8] = "u1",  [NUC_I16] = "i2",
                                    [NUC_I32] = "i4", [NUC_I64] = "i8", [NUC_BOOL] = "b1"};

    return !s->logical || (dtype < sizeof types / sizeof types[0] && memcmp(s->type, types[dtype], 2) == 0);
}

/* Opens the file and skips the header of an .npy file. */
static bool open_samples(struct samples *s, const char *path)
{
    uint8_t header[NPY_HEADER];
    uint8_t skipped[64];

    *s = (struct samples){.file = -1, .embedded = nuc_input, .embedded_left = (size_t)(nuc_input_end - nuc_input)};
    if (path == NULL)
        return true;
    s->file = nuc_port_open(path, 0);
    if (s->file < 0)
        return false;
    if (nuc_port_read(s->file, header, sizeof header) == sizeof header && memcmp(header, "\x93NUMPY", 6) == 0) {
        size_t length = (size_t)header[8] | (size_t)header[9] << 8;
        s->logical = true;
        for (size_t n = 0; length > 0; length -= n) {
            n = length < sizeof skipped ? length : sizeof skipped;
            if (nuc_port_read(s->file, skipped, n) != n)
                return false;
            if (s->type[0] == '\0')
                memcpy(s->type, skipped + 12, sizeof s->type);
        }
        return true;
    }
    nuc_port_close(s->file);
    s->file = nuc_port_open(path, 0);
    return s->file >= 0;
}

/* From the order of the dimensions to the order of memory. */
static void lay_out(const struct nuc_tensor *t, const uint8_t *from, uint8_t *to)
{
    size_t strides[NUC_MAX_RANK] = {0};
    size_t size = nuc_dtype_size((enum nuc_dtype)t->dtype);
    size_t count = 1;

    for (size_t i = t->rank; i-- > 0;) {
        strides[t->dim_order[i]] = count;
        count *= (size_t)t->sizes[t->dim_order[i]];
    }
    for (size_t i = 0; i < count; i++) {
        size_t rest = i;
        size_t at = 0;
        for (size_t d = t->rank; d-- > 0;) {
            at += rest % (size_t)t->sizes[d] * strides[d];
            rest /= (size_t)t->sizes[d];
        }
        memcpy(to + at * size, from + i * size, size);
    }
}

/* ---- running ---- */

struct runner {
    struct nuc_program program;
    struct nuc_tensor input;
    uint8_t *raw, *sample;
    uint32_t before; /* instructions when the operator under way began */
    struct nuc_decider decider;
};

static void trace(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args, size_t n_args)
{
    struct runner *r = user;
    uint32_t now = nuc_port_instructions();

    (void)args;
    (void)n_args;
    nuc_print_line("operator ", (int64_t)instruction, " ");
    nuc_port_print(name);
    nuc_print_line(" instructions ", (int64_t)(now - r->before), "\n");
    r->before = nuc_port_instructions();
}

static int execute(struct runner *r, uint32_t *instructions)
{
    struct nuc_detail detail;
    enum nuc_status status = nuc_program_set_input(&r->program, 0, r->sample, r->input.bytes, &detail);

    if (status != NUC_OK)
        return failed("setting the input", status, &detail);
    uint32_t start = nuc_port_instructions();
    r->before = start;
    status = nuc_program_execute(&r->program, &detail);
    *instructions = nuc_port_instructions() - start;
    return status == NUC_OK ? 0 : failed("executing", status, &detail);
}

static void print_output(const struct nuc_tensor *t)
{
    for (size_t i = 0; i < t->bytes / nuc_dtype_size((enum nuc_dtype)t->dtype); i++) {
        if (t->dtype == NUC_F32)
            nuc_print_millionths(((const float *)t->data)[i]);
        else
            nuc_print_line(" ", ((const int8_t *)t->data)[i], "");
    }
    nuc_port_print("\n");
}

#if TABLES_DECISIONS > 0
/* What the program says of its outputs. */
static enum nuc_status load_decision(struct runner *r, struct nuc_detail *detail)
{
    static struct nuc_decision_rule rule;
    static struct nuc_found found[TABLES_FOUND];
    static float history[TABLES_HISTORY + 1];
    const enum nuc_status status = nuc_program_decision(&r->program, &rule, detail);

    return status != NUC_OK ? status
                            : nuc_decider_init(&r->decider, &rule, found, TABLES_FOUND, history, TABLES_HISTORY);
}

static void print_found(struct runner *r, int64_t sample)
{
    if (nuc_program_decide(&r->program, &r->decider) == NUC_OK)
        nuc_print_found(sample, &r->decider);
}
#endif

/* The sequence of samples begins again, for a program with states. */
static int begin(struct runner *r)
{
    struct nuc_detail detail;
    enum nuc_status status = nuc_program_reset(&r->program, &detail);

    return status == NUC_OK ? 0 : failed("resetting the program", status, &detail);
}

/* The first sample twice: with a line for each operator, and for the whole. The program is as before then. */
static int run_first(struct runner *r)
{
    struct nuc_tensor out;
    uint32_t instructions;

    nuc_program_trace(&r->program, trace, r);
    int code = execute(r, &instructions);
    nuc_program_trace(&r->program, NULL, NULL);
    if (code == 0)
        code = begin(r);
    if (code == 0)
        code = execute(r, &instructions);
    if (code != 0)
        return code;
    nuc_print_line("execution instructions ", (int64_t)instructions, "\n");
    for (size_t i = 0; i < nuc_program_n_outputs(&r->program); i++) {
        if (nuc_program_output(&r->program, i, &out) == NUC_OK) {
            nuc_print_line("output ", (int64_t)i, ":");
            print_output(&out);
        }
    }
    return begin(r);
}

static bool next_sample(struct runner *r, struct samples *s)
{
    if (!read_samples(s, s->logical ? r->raw : r->sample, r->input.bytes))
        return false;
    if (s->logical)
        lay_out(&r->input, r->raw, r->sample);
    return true;
}

static int run_all(struct runner *r, struct samples *s, const char *output)
{
    int file = output != NULL ? nuc_port_open(output, 1) : -1;
    int64_t count = 0;
    struct nuc_tensor out;
    uint32_t instructions;
    int code = output != NULL && file < 0 ? 1 : 0;

    if (!fits(s, (enum nuc_dtype)r->input.dtype)) {
        nuc_port_print("runner: the .npy file has another element type than the input\n");
        return 1;
    }
    bool more = next_sample(r, s);
    if (!more)
        memset(r->sample, 0, r->input.bytes);
    if (code == 0)
        code = more || s->file < 0 ? run_first(r) : 1;
    while (code == 0 && more) {
        code = execute(r, &instructions);
        if (code == 0 && file >= 0 && nuc_program_output(&r->program, 0, &out) == NUC_OK)
            code = nuc_port_write(file, out.data, out.bytes) == 0 ? 0 : 1;
#if TABLES_DECISIONS > 0
        print_found(r, count);
#endif
        count++;
        nuc_port_wait();
        more = next_sample(r, s);
    }
    if (file >= 0)
        nuc_port_close(file);
    nuc_print_line("samples ", count, "\n");
    if (s->file >= 0 && (s->cut || count == 0)) {
        nuc_print_line("runner: the input is no whole number of samples of ", (int64_t)r->input.bytes, " bytes\n");
        return 1;
    }
    return code;
}

static int load(struct runner *r, struct nuc_board_memory *m)
{
    struct nuc_detail detail;
    const void *image;
    size_t size;
    enum nuc_status status = nuc_find_image(&image, &size, &detail);

    if (status == NUC_OK)
        status = nuc_program_verify(image, size, &detail);
    if (status == NUC_OK || status == NUC_UNSUPPORTED) /* of another compiler, which gives no checksum */
        status = nuc_load_image(&r->program, image, size, m, &detail);
    if (status == NUC_OK)
        status = nuc_program_input_info(&r->program, 0, &r->input);
#if TABLES_DECISIONS > 0
    if (status == NUC_OK)
        status = load_decision(r, &detail);
#endif
    if (status != NUC_OK)
        return failed("loading the program", status, &detail);
    r->raw = nuc_take(m, r->input.bytes);
    r->sample = nuc_take(m, r->input.bytes);
    return r->raw != NULL && r->sample != NULL ? 0 : 1;
}

int nuc_firmware_main(void)
{
    const char *words[3] = {NULL, NULL, NULL};
    struct nuc_board_memory m;
    struct runner r;
    struct samples samples;
    size_t n_words = nuc_port_arguments(words, 3);

    m.at = nuc_port_memory(&m.left);
    if (tables_start() != NUC_OK) {
        nuc_port_print("runner: the NPU's driver does not start\n");
        return 1;
    }
    if (!open_samples(&samples, n_words > 1 ? words[1] : NULL)) {
        nuc_port_print("runner: the input file cannot be read\n");
        return 1;
    }
    int code = load(&r, &m);
    return code != 0 ? code : run_all(&r, &samples, n_words > 2 ? words[2] : NULL);
}
