/*
 * A complete firmware project for a program: the files of firmware/project and port/ with names and sizes filled in,
 * the program in both its forms, samples and what the host computes of them.
 */
#include <string.h>
#include <unistd.h>

#include "nucleon/firmware.h"
#include "nucleon/runner.h"

#include "archive/file_kind.h"
#include "archive/program_package.h"
#include "archive/program_view.h"
#include "data/metadata.h"
#include "host/call.h"
#include "host/file.h"
#include "host/pieces.h"
#include "host/text.h"
#include "tools/codegen/codegen.h"
#include "tools/project/project_files.h"

/* Boards that QEMU has, by their CPU; the first one for all others. */
static const struct board {
    const char *cpu, *toolchain, *preset, *port, *machine;
} boards[] = {
    {"Cortex-M33", "cortex-m33", "cm33", "mps2_an505", "mps2-an505"},
    {"Cortex-M55", "cortex-m55", "cm55", "mps3_an547", "mps3-an547"},
    /* QEMU has no board with this one, which runs the code of a Cortex-M55. */
    {"Cortex-M85", "cortex-m55", "cm55", "mps3_an547", "mps3-an547"},
};

#define N_BOARDS (sizeof boards / sizeof boards[0])

/* Memory of the firmware: of each program what it asks for, of all the most. */
struct bank {
    const char *name;
    size_t bytes, taken;
};

struct project {
    struct nuc_context *cx;
    const char *folder, *name;
    const struct board *board;
    const struct nuc_metadata *metadata; /* of the program; NULL: it has none */
    struct nuc_pieces inputs, outputs;   /* per sample all of them, one after the other, as they lie in memory */
    size_t n_inputs, n_outputs, states;  /* states: bytes of them */
    struct bank banks[NUC_MAX_BANKS];    /* the arena, then what programs name */
    size_t n_banks, slot;
    struct nuc_text kept; /* files that are there and differ */
};

/* ---- placeholders ---- */

/* "    case 0: ..." per input or output, as the functions of the generated C give them. */
static const char *cases(const struct project *p, const char *kind, size_t count)
{
    const char *upper = nuc_codegen_capitals(p->cx, p->name);
    struct nuc_text out = {.cx = p->cx};

    for (size_t i = 0; i < count; i++)
        nuc_text_addf(&out, "%s    case %zu:\n        return (struct tensor){(void *)%s_%s%zu(), %s_%s%zu_BYTES};",
                      i > 0 ? "\n" : "", i, p->name, kind, i, upper, nuc_codegen_capitals(p->cx, kind), i);
    return nuc_text_string(&out);
}

/* An array for each bank besides the arena, and where they all are. */
static const char *banks(const struct project *p)
{
    struct nuc_text arrays = {.cx = p->cx}, places = {.cx = p->cx};

    for (size_t i = 1; i < p->n_banks; i++) {
        const struct bank *b = &p->banks[i];
        nuc_text_addf(&arrays,
                      "static __attribute__((section(\".bss.%s\")))\n    _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t "
                      "bank%zu[%zu];\n",
                      b->name, i, b->bytes);
        nuc_text_addf(&places, ", {\"%1$s\", bank%2$zu, sizeof bank%2$zu}", b->name, i);
    }
    return nuc_format(p->cx, "%sstatic const struct nuc_bank banks[] = {{NULL, arena, sizeof arena}%s};",
                      nuc_text_string(&arrays), nuc_text_string(&places));
}

/* What stands for @KEY@; NULL: that is no placeholder. */
static const char *value_of(const struct project *p, const char *key, size_t length)
{
    const struct {
        const char *key, *value;
    } rows[] = {
        {"NAME", p->name},
        {"CPU", p->board->cpu},
        {"TOOLCHAIN", p->board->toolchain},
        {"PRESET", p->board->preset},
        {"BOARD", p->board->port},
        {"MACHINE", p->board->machine},
        {"UPPER", nuc_codegen_capitals(p->cx, p->name)},
        {"INPUTS", nuc_format(p->cx, "%zu", p->n_inputs)},
        {"OUTPUTS", nuc_format(p->cx, "%zu", p->n_outputs)},
        {"INPUT_CASES", cases(p, "input", p->n_inputs)},
        {"OUTPUT_CASES", cases(p, "output", p->n_outputs)},
        {"STATES_BYTES", nuc_format(p->cx, "%zu", p->states)},
        {"ARENA_BYTES", nuc_format(p->cx, "%zu", p->banks[0].bytes)},
        {"SLOT_BYTES", nuc_format(p->cx, "%zu", p->slot)},
        {"BANKS", banks(p)},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].key) == length && memcmp(rows[i].key, key, length) == 0)
            return rows[i].value;
    }
    return NULL;
}

/* ---- files ---- */

static const char *in_project(const struct project *p, const char *path)
{
    return nuc_format(p->cx, "%s/%s", p->folder, path);
}

/* Those above a file. */
static void make_folders(const struct project *p, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
        nuc_make_folder(p->cx, nuc_format(p->cx, "%s/%.*s", p->folder, (int)(slash - path), path));
}

/* ---- programs ---- */

static void add_bytes(struct bank *b, size_t bytes)
{
    b->taken += (bytes + NUC_MEMORY_ALIGNMENT - 1) / NUC_MEMORY_ALIGNMENT * NUC_MEMORY_ALIGNMENT;
    b->bytes = b->taken > b->bytes ? b->taken : b->bytes;
}

/* Slot and banks become large enough for the package; the state is that of this machine, an upper bound. */
static void make_room(struct project *p, const char *file, struct nuc_span package)
{
    struct nuc_program_sizes sizes;
    struct nuc_package parts;
    struct nuc_detail d = {.message = NULL};
    const size_t block = 4096; /* of port/flash.h */

    if (nuc_package_open(package.data, package.size, &parts, &d) != NUC_OK ||
        nuc_program_sizes(parts.program, parts.program_size, &nuc_default_backends, &sizes, &d) != NUC_OK)
        nuc_fail(p->cx, NUC_BAD_INPUT, "%s: %s", file, d.message);
    if (parts.cpu[0] != '\0' && strcmp(parts.cpu, p->board->cpu) != 0)
        nuc_fail(p->cx, NUC_BAD_USAGE, "%s: is for a %s, and the project for a %s: compile it for that", file,
                 parts.cpu, p->board->cpu);
    p->slot = package.size > p->slot ? (package.size + block - 1) / block * block : p->slot;
    for (size_t i = 0; i < p->n_banks; i++)
        p->banks[i].taken = 0;
    add_bytes(&p->banks[0], sizes.state);
    for (uint32_t i = 0; i < parts.n_memories; i++) {
        const struct nuc_package_memory m = nuc_package_memory(&parts, i);
        size_t k = 0;
        while (m.bank != NULL && ++k < p->n_banks && strcmp(p->banks[k].name, m.bank) != 0)
            ;
        if (k == NUC_MAX_BANKS)
            nuc_fail(p->cx, NUC_UNSUPPORTED,
                     "%s: the programs name more than %d banks: compile them with the same --memory", file,
                     NUC_MAX_BANKS);
        if (k >= p->n_banks)
            p->banks[p->n_banks++] = (struct bank){.name = m.bank};
        add_bytes(&p->banks[k], m.bytes);
    }
}

/* The first program, in both its forms; of the others kernels and memory. */
static void write_programs(struct project *p, const char *path, const char *const *others, size_t n_others)
{
    struct nuc_context *cx = p->cx;
    const struct nuc_program_view **views = nuc_alloc_array(cx, n_others + 1, sizeof *views);
    const char *stem = in_project(p, nuc_format(cx, "program/%s", p->name));

    p->n_banks = 1;
    for (size_t i = 0; i <= n_others; i++) {
        const char *file = i == 0 ? path : others[i - 1];
        struct nuc_package given;
        nuc_expect_file(cx, file, NUC_FILE_PROGRAM);
        struct nuc_span package = nuc_read_file(cx, file);
        views[i] = nuc_program_view_open(cx, file, nuc_program_of(cx, file, package));
        if (!nuc_package_of(cx, file, package, &given)) /* one that is given keeps its version and its signature */
            package = nuc_make_package(cx, views[i], 1);
        make_room(p, file, package);
        if (i == 0)
            nuc_write_file(cx, nuc_format(cx, "%s.npk", stem), package);
    }
    struct nuc_codegen_files code = nuc_generate_code(cx, path, views[0]->bytes, p->name);
    struct nuc_table_files tables =
        nuc_kernel_tables(cx, views, n_others + 1, nuc_format(cx, "%s_tables", p->name), "codegen", "");
    nuc_write_text(cx, nuc_format(cx, "%s.h", stem), code.header);
    nuc_write_text(cx, nuc_format(cx, "%s.c", stem), code.source);
    nuc_write_text(cx, nuc_format(cx, "%s_data.c", stem), code.data);
    nuc_write_text(cx, nuc_format(cx, "%s_tables.h", stem), tables.header);
    nuc_write_text(cx, nuc_format(cx, "%s_tables.c", stem), tables.source);
}

/* ---- samples, and what they give on the host ---- */

static void keep(struct nuc_context *cx, const struct nuc_runner *runner, bool input, size_t count,
                 struct nuc_pieces *pieces)
{
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        const void *raw = nuc_runner_raw(runner, input, i, &bytes);
        nuc_add_piece(cx, pieces, (struct nuc_span){nuc_copy(cx, raw, bytes), bytes});
    }
}

/* A buffer in logical order; the program's own have what is kept. */
static void *buffer(struct nuc_context *cx, const struct nuc_runner *runner, bool input, size_t i)
{
    struct nuc_tensor_info info;

    if ((input ? nuc_runner_input(runner, i, &info) : nuc_runner_output(runner, i, &info)) != NUC_OK)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s %zu is not a tensor: a project takes tensors alone",
                 input ? "input" : "output", i);
    return nuc_alloc(cx, info.bytes);
}

/* Over all of the data set at `data`; NULL: one sample of zeros. */
static void run(struct project *p, struct nuc_compiler *c, const char *program, const char *data)
{
    struct nuc_context *cx = p->cx;
    struct nuc_dataset *samples = NULL;
    struct nuc_runner *runner;
    size_t n_samples = 1;

    nuc_check(cx, nuc_runner_open(c, program, NULL, &runner));
    p->n_inputs = nuc_runner_n_inputs(runner);
    p->n_outputs = nuc_runner_n_outputs(runner);
    if (data != NULL) {
        nuc_check(cx, nuc_dataset_open(c, data, &samples));
        nuc_check(cx, nuc_runner_bind(runner, samples, NULL, &n_samples));
    }
    p->states = nuc_runner_states_size(runner);
    const void **inputs = nuc_alloc_array(cx, p->n_inputs, sizeof *inputs);
    void **outputs = nuc_alloc_array(cx, p->n_outputs, sizeof *outputs);
    for (size_t i = 0; i < p->n_inputs; i++)
        inputs[i] = buffer(cx, runner, true, i);
    for (size_t i = 0; i < p->n_outputs; i++)
        outputs[i] = buffer(cx, runner, false, i);
    for (size_t k = 0; k < n_samples; k++) {
        if (samples != NULL)
            nuc_check(cx, nuc_dataset_sample(samples, k, inputs));
        if (samples != NULL && k > 0 && nuc_dataset_begins(samples, k))
            nuc_fail(cx, NUC_BAD_INPUT,
                     "%s: has more than one sequence, and the project's main.c runs its samples as one: give one",
                     data);
        nuc_check(cx, nuc_runner_run(runner, inputs, outputs));
        keep(cx, runner, true, p->n_inputs, &p->inputs);
        keep(cx, runner, false, p->n_outputs, &p->outputs);
    }
    nuc_runner_close(runner);
}

/* ---- the project ---- */

/* That of the program, which --target may only say once more. */
static const struct board *board_for(const struct project *p, const char *path, const struct nuc_target_facts *target)
{
    const char *cpu = p->metadata != NULL && p->metadata->n_target > 0 ? p->metadata->target->cpu : NULL;

    if (cpu != NULL && strcmp(target->name, nuc_target_name(0)) != 0 && strcmp(cpu, target->cpu) != 0)
        nuc_fail(p->cx, NUC_BAD_USAGE, "%s: the program is for a %s, %s is not one: leave --target out", path, cpu,
                 target->name);
    const char *own = cpu != NULL ? cpu : target->cpu;
    for (size_t i = 1; i < N_BOARDS; i++) {
        if (strcmp(boards[i].cpu, own) == 0)
            return &boards[i];
    }
    return &boards[0];
}

static bool is_of(const struct board *board, const struct nuc_project_file *file)
{
    return strstr(file->path, board->toolchain) != NULL || strstr(file->path, board->port) != NULL;
}

static bool is_of_another_board(const struct project *p, const struct nuc_project_file *file)
{
    for (size_t i = 0; i < N_BOARDS; i++) {
        if (is_of(&boards[i], file))
            return !is_of(p->board, file);
    }
    return false;
}

/* What describes the program is replaced; the rest is the user's once it is there. */
static void write_own(struct project *p, const struct nuc_project_file *file)
{
    struct nuc_text out = {.cx = p->cx};
    const char *at = file->bytes, *open;

    while ((open = strchr(at, '@')) != NULL) {
        size_t length = strcspn(open + 1, "@\n");
        const char *value = open[1 + length] == '@' ? value_of(p, open + 1, length) : NULL;
        size_t taken = (size_t)(open - at) + (value == NULL);
        nuc_text_add(&out, at, taken);
        if (value != NULL)
            nuc_text_addf(&out, "%s", value);
        at = value != NULL ? open + length + 2 : at + taken;
    }
    nuc_text_addf(&out, "%s", at);
    const char *path = in_project(p, file->path), *text = nuc_text_string(&out);
    make_folders(p, file->path);
    if (strncmp(file->path, "program/", 8) == 0 || access(path, F_OK) != 0) {
        nuc_write_text(p->cx, path, text);
        return;
    }
    struct nuc_span there = nuc_read_file(p->cx, path);
    if (there.size != strlen(text) || memcmp(there.data, text, there.size) != 0)
        nuc_text_addf(&p->kept, "%s%s", p->kept.length > 0 ? ", " : "", file->path);
}

enum nuc_status nuc_write_project(struct nuc_compiler *c, const char *path, const char *folder,
                                  const struct nuc_project_options *options)
{
    struct nuc_target_facts target;
    enum nuc_status status = nuc_target_facts(c, &target);
    struct nuc_call call;

    if (status != NUC_OK)
        return status;
    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && folder != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        struct project p = {.cx = cx, .folder = folder, .kept = {.cx = cx}};
        p.metadata = nuc_metadata_of(cx, nuc_program_view_open(cx, path, nuc_read_program(cx, path)));
        p.board = board_for(&p, path, &target);
        p.name = options != NULL && options->name != NULL ? options->name : nuc_codegen_name(cx, path);
        run(&p, c, path, options != NULL ? options->data : NULL);
        nuc_make_folder(cx, p.folder);
        make_folders(&p, "program/");
        write_programs(&p, path, options != NULL ? options->others : NULL, options != NULL ? options->n_others : 0);
        for (size_t i = 0; i < nuc_n_project_files; i++) {
            if (!is_of_another_board(&p, &nuc_project_files[i]))
                write_own(&p, &nuc_project_files[i]);
        }
        if (p.kept.length > 0)
            nuc_warn(cx, "%s: kept as they are: %s; without them there, they are written", p.folder,
                     nuc_text_string(&p.kept));
        nuc_write_pieces(cx, in_project(&p, "samples.bin"), &p.inputs);
        nuc_write_pieces(cx, in_project(&p, "expected.bin"), &p.outputs);
    }
    return nuc_leave(&call);
}
