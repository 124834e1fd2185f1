/*
 * golden FILE.zip [--only PART] [--every N] [--save DIR] [--verbose] [--target NAME] [--executorch-ops-only]
 * [--quantized]: programs
 * that torch.export wrote, with inputs and what PyTorch computed (golden_make.py), or LiteRT models and what numpy
 * computes (litert_make.py). Each is compiled without quantization; evaluator and program must give the expected
 * outputs: integers equal, floats within `tolerance`. Prints a line for each that does not, or that is refused, and
 * totals. Exit code 0 when all hold and as many are there as the file says.
 *
 * --every N takes each N-th program only, --save DIR writes the models there and runs none. --quantized leaves out
 * the evaluator, which rounds real results, where a kernel in integers has others.
 *
 * FILE.zip has two entries. "data" holds the bytes of tensors and weights. "programs" is lines of JSON, the first one
 *
 *     {"torch": version, "count": number of programs}
 *
 * and then one for each program, where "archive" is the .pt2 archive without its top folder:
 *
 *     {"name": ..., "tolerance": [relative, absolute], "archive": {entry: text, JSON, or [offset, bytes] of "data"},
 *      "inputs": [[offset, bytes]], "outputs": [{"dtype": ..., "sizes": [...], "data": [offset, bytes]}]}
 *
 * A LiteRT model has "model": [offset, bytes] in place of "archive". With "runs": N inputs and outputs are those of N
 * runs, one after the other, each of which begins with the states that the one before left; then all are run again
 * after a reset.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/json.h"
#include "archive/json_build.h"
#include "archive/zip.h"
#include "archive/zip_write.h"
#include "host/file.h"
#include "nucleon/runner.h"

#define MAX_IO 64

struct request {
    struct nuc_options options;
    const char *file, *only, *save;
    size_t every;
    bool verbose, quantized;
};

struct expected {
    enum nuc_dtype dtype;
    size_t rank;
    int64_t sizes[NUC_MAX_RANK];
    size_t elements; /* of one run */
    const uint8_t *data;
};

/* One program of the file, and what it is to give. */
struct golden {
    const char *name;
    double relative, absolute;
    size_t n_inputs, n_outputs, runs;
    struct nuc_span inputs[MAX_IO];
    struct expected outputs[MAX_IO];
};

struct totals {
    size_t lines, programs, stated, equal, refused, differ, crash;
};

/* ---- reading ---- */

/* The bytes that [offset, bytes] stands for. */
static struct nuc_span data_at(const struct nuc_json *j, struct nuc_span data)
{
    struct nuc_json offset = nuc_json_item(j, 0), size = nuc_json_item(j, 1);
    struct nuc_span bytes;

    if (!nuc_span_slice(data, (uint64_t)nuc_json_int(&offset), (uint64_t)nuc_json_int(&size), &bytes))
        nuc_json_fail(j, NUC_BAD_INPUT, "is beyond the data");
    return bytes;
}

static enum nuc_dtype dtype_named(const struct nuc_json *j)
{
    const char *name = nuc_json_string(j);

    for (int d = 0; d < NUC_DTYPE_COUNT; d++) {
        if (strcmp(nuc_dtype_name((enum nuc_dtype)d), name) == 0)
            return (enum nuc_dtype)d;
    }
    nuc_json_fail(j, NUC_BAD_INPUT, "is no element type");
}

static struct expected read_output(const struct nuc_json *j, struct nuc_span data, size_t runs)
{
    struct nuc_json dtype = nuc_json_field(j, "dtype"), sizes = nuc_json_field(j, "sizes"),
                    place = nuc_json_field(j, "data");
    struct nuc_span bytes = data_at(&place, data);
    struct expected e = {.dtype = dtype_named(&dtype), .rank = nuc_json_count(&sizes), .elements = 1};

    if (e.rank > NUC_MAX_RANK)
        nuc_json_fail(&sizes, NUC_BAD_INPUT, "has more than %d sizes", NUC_MAX_RANK);
    for (size_t i = 0; i < e.rank; i++) {
        struct nuc_json size = nuc_json_item(&sizes, i);
        e.sizes[i] = nuc_json_int(&size);
        e.elements *= (size_t)e.sizes[i];
    }
    if (e.elements * runs != bytes.size / nuc_dtype_size(e.dtype))
        nuc_json_fail(&place, NUC_BAD_INPUT, "does not fit the sizes");
    e.data = bytes.data;
    return e;
}

static void read_golden(const struct nuc_json *j, struct nuc_span data, struct golden *out)
{
    struct nuc_json name = nuc_json_field(j, "name"), tolerance = nuc_json_field(j, "tolerance"),
                    inputs = nuc_json_field(j, "inputs"), outputs = nuc_json_field(j, "outputs");
    struct nuc_json runs = nuc_json_entry(j, "runs");
    struct nuc_json relative = nuc_json_item(&tolerance, 0), absolute = nuc_json_item(&tolerance, 1);

    *out = (struct golden){.name = nuc_json_string(&name),
                           .relative = nuc_json_double(&relative),
                           .absolute = nuc_json_double(&absolute),
                           .n_inputs = nuc_json_count(&inputs),
                           .n_outputs = nuc_json_count(&outputs),
                           .runs = nuc_json_is_there(&runs) ? (size_t)nuc_json_int(&runs) : 1};
    if (out->n_inputs > MAX_IO || out->n_outputs > MAX_IO)
        nuc_json_fail(j, NUC_BAD_INPUT, "has more than %d inputs or outputs", MAX_IO);
    for (size_t i = 0; i < out->n_inputs; i++) {
        struct nuc_json place = nuc_json_item(&inputs, i);
        out->inputs[i] = data_at(&place, data);
    }
    for (size_t i = 0; i < out->n_outputs; i++) {
        struct nuc_json output = nuc_json_item(&outputs, i);
        out->outputs[i] = read_output(&output, data, out->runs);
    }
}

/* `value` is the tree of what `j` reads: an object is written again. */
static struct nuc_span archive_entry(struct nuc_context *cx, const struct nuc_json *j, const json_t *value,
                                     struct nuc_span data)
{
    if (json_is_object(value))
        return nuc_json_dump(cx, value, JSON_COMPACT);
    if (json_is_string(value))
        return (struct nuc_span){(const uint8_t *)json_string_value(value), json_string_length(value)};
    return data_at(j, data);
}

static void release_tree(void *tree)
{
    json_decref(tree);
}

static struct nuc_span make_archive(struct nuc_context *cx, const struct nuc_json *program, struct nuc_span line,
                                    struct nuc_span data)
{
    struct nuc_json archive = nuc_json_field(program, "archive");
    struct nuc_zip_writer *w = nuc_zip_writer_new(cx);
    json_t *tree = json_loadb((const char *)line.data, line.size, 0, NULL), *value;
    const char *key;

    if (tree == NULL)
        nuc_json_fail(program, NUC_BAD_INPUT, "is no JSON");
    nuc_defer(cx, release_tree, tree);
    json_object_foreach(json_object_get(tree, "archive"), key, value)
    {
        struct nuc_json entry = nuc_json_field(&archive, key);
        nuc_zip_add(w, nuc_format(cx, "golden/%s", key), archive_entry(cx, &entry, value, data));
    }
    struct nuc_pieces bytes = nuc_zip_finish(w, "model.pt2");
    return nuc_join_pieces(cx, &bytes);
}

/* ---- comparing ---- */

static bool near(const struct golden *g, double got, double expected)
{
    if (isnan(expected))
        return isnan(got);
    if (isinf(expected))
        return expected == got;
    return fabs(got - expected) <= g->absolute + g->relative * fabs(expected);
}

static bool same_shape(const struct expected *e, const struct nuc_tensor_info *t)
{
    return e->dtype == t->dtype && e->rank == t->rank && memcmp(e->sizes, t->sizes, e->rank * sizeof e->sizes[0]) == 0;
}

/* Element `i` of a tensor of floats. */
static double element(enum nuc_dtype dtype, const void *data, size_t i)
{
    float f;
    double d;

    if (dtype == NUC_F64) {
        memcpy(&d, (const char *)data + i * sizeof d, sizeof d);
        return d;
    }
    memcpy(&f, (const char *)data + i * sizeof f, sizeof f);
    return (double)f;
}

/* `wanted`: the outputs of a run. */
static bool equal_element(const struct golden *g, enum nuc_dtype dtype, const void *got, const uint8_t *wanted,
                          size_t i)
{
    size_t size = nuc_dtype_size(dtype);

    if (memcmp((const char *)got + i * size, wanted + i * size, size) == 0)
        return true;
    return (dtype == NUC_F32 || dtype == NUC_F64) && near(g, element(dtype, got, i), element(dtype, wanted, i));
}

/* `what` computed the outputs of run `run`; in logical order. */
static bool judge(const struct golden *g, const char *what, size_t run, const struct nuc_tensor_info *infos,
                  void *const *got)
{
    for (size_t k = 0; k < g->n_outputs; k++) {
        const struct expected *e = &g->outputs[k];
        const uint8_t *wanted = e->data + run * e->elements * nuc_dtype_size(e->dtype);
        size_t wrong = 0, first = 0;
        if (!same_shape(e, &infos[k])) {
            printf("%s: %s: output %zu has another shape or element type\n", g->name, what, k);
            return false;
        }
        for (size_t i = e->elements; i-- > 0;) {
            bool equal = equal_element(g, e->dtype, got[k], wanted, i);
            wrong += !equal;
            first = equal ? first : i;
        }
        if (wrong == 0)
            continue;
        printf("%s: %s: output %zu differs in %zu of %zu elements", g->name, what, k, wrong, e->elements);
        if (e->dtype == NUC_F32 || e->dtype == NUC_F64)
            printf(", at %zu: %.9g, expected %.9g", first, element(e->dtype, got[k], first),
                   element(e->dtype, wanted, first));
        printf("\n");
        return false;
    }
    return true;
}

/* ---- one program ---- */

static void free_blocks(void **blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

static void make_blocks(const struct nuc_tensor_info *infos, size_t count, void **blocks)
{
    for (size_t i = 0; i < count; i++) {
        blocks[i] = malloc(infos[i].bytes + 1);
        if (blocks[i] == NULL)
            abort();
    }
}

enum outcome { EQUAL, DIFFERS, REFUSED, CRASHES };

static enum outcome refused(const struct golden *g, const char *what, const char *why)
{
    printf("%s: %s: %s\n", g->name, what, why);
    return REFUSED;
}

/* What is run: a program or its model. */
struct subject {
    const char *what;
    enum nuc_status (*run)(void *of, const void *const *inputs, void *const *outputs);
    void (*reset)(void *of);
    void *of;
};

static enum nuc_status run_runner(void *of, const void *const *inputs, void *const *outputs)
{
    return nuc_runner_run(of, inputs, outputs);
}

static void reset_runner(void *of)
{
    nuc_runner_reset(of);
}

static enum nuc_status run_model(void *of, const void *const *inputs, void *const *outputs)
{
    return nuc_model_run(of, inputs, outputs);
}

static void reset_model(void *of)
{
    nuc_model_reset(of);
}

/* All runs, and once more from the beginning where there are several. */
static enum outcome run_all(const struct golden *g, const struct subject *s, struct nuc_compiler *c,
                            const struct nuc_tensor_info *infos, void *const *outputs)
{
    const void *inputs[MAX_IO];

    for (size_t i = 0; i < (g->runs > 1 ? 2 * g->runs : 1); i++) {
        size_t run = i % g->runs;
        if (i == g->runs)
            s->reset(s->of);
        for (size_t k = 0; k < g->n_inputs; k++)
            inputs[k] = g->inputs[k].data + run * (g->inputs[k].size / g->runs);
        if (s->run(s->of, inputs, outputs) != NUC_OK)
            return refused(g, s->what, nuc_compiler_message(c));
        if (!judge(g, s->what, run, infos, outputs))
            return DIFFERS;
    }
    return EQUAL;
}

static enum outcome run_program(const struct golden *g, struct nuc_compiler *c, const uint8_t *bytes, size_t size)
{
    struct nuc_runner *program;
    struct nuc_tensor_info infos[MAX_IO];
    void *outputs[MAX_IO];

    if (nuc_runner_open_bytes(c, g->name, bytes, size, NULL, &program) != NUC_OK)
        return refused(g, "program does not load", nuc_compiler_message(c));
    size_t n_outputs = nuc_runner_n_outputs(program);
    if (nuc_runner_n_inputs(program) != g->n_inputs || n_outputs != g->n_outputs)
        return refused(g, "program", "another number of inputs or outputs");
    for (size_t i = 0; i < n_outputs; i++)
        nuc_runner_output(program, i, &infos[i]);
    make_blocks(infos, n_outputs, outputs);
    const struct subject subject = {"program", run_runner, reset_runner, program};
    enum outcome result = run_all(g, &subject, c, infos, outputs);
    free_blocks(outputs, n_outputs);
    nuc_runner_close(program);
    return result;
}

static enum outcome run_evaluator(const struct golden *g, struct nuc_compiler *c, struct nuc_model *m)
{
    struct nuc_tensor_info infos[MAX_IO];
    void *outputs[MAX_IO];

    for (size_t i = 0; i < g->n_outputs; i++)
        nuc_model_output(m, i, &infos[i]);
    make_blocks(infos, g->n_outputs, outputs);
    const struct subject subject = {"evaluator", run_model, reset_model, m};
    enum outcome result = run_all(g, &subject, c, infos, outputs);
    free_blocks(outputs, g->n_outputs);
    return result;
}

static enum outcome run_golden(const struct request *q, const struct golden *g, struct nuc_span model)
{
    struct nuc_compiler *c = nuc_compiler_new(&q->options, NULL);
    struct nuc_model *m;
    enum outcome result = EQUAL;
    const uint8_t *program;
    size_t size;

    if (c == NULL)
        return refused(g, "compiler", "memory is exhausted");
    if (nuc_model_open_bytes(c, g->name, model.data, model.size, &m) != NUC_OK)
        result = refused(g, "import", nuc_compiler_message(c));
    else if (nuc_model_n_inputs(m) != g->n_inputs || nuc_model_n_outputs(m) != g->n_outputs)
        result = refused(g, "import", "another number of inputs or outputs");
    for (size_t i = 0; i < g->n_inputs && result == EQUAL; i++) {
        struct nuc_tensor_info info = {.bytes = 0};
        nuc_model_input(m, i, &info);
        if (info.bytes * g->runs != g->inputs[i].size)
            result = refused(g, "import", "an input has another size than its data");
    }
    if (result == EQUAL) {
        enum outcome evaluator = q->quantized ? EQUAL : run_evaluator(g, c, m);
        if (nuc_compile_to_memory(m, NULL, &program, &size) != NUC_OK)
            result = refused(g, "compile", nuc_compiler_message(c));
        else
            result = run_program(g, c, program, size);
        result = result > evaluator ? result : evaluator;
    }
    nuc_compiler_free(c);
    return result;
}

/* In a process of its own, so that one that crashes is named and the others still run. */
static enum outcome run_apart(const struct request *q, const struct golden *g, struct nuc_span model)
{
    int status = 0;
    pid_t child = fork();

    if (child < 0)
        return refused(g, "fork", "no process");
    if (child == 0) {
        enum outcome result = run_golden(q, g, model);
        fflush(stdout);
        _exit((int)result);
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) <= REFUSED)
        return (enum outcome)WEXITSTATUS(status);
    printf("%s: crashes\n", g->name);
    return CRASHES;
}

/* ---- the file ---- */

struct file_run {
    const struct request *q;
    struct totals *sum;
};

static struct nuc_span read_entry(const struct nuc_zip *zip, const char *name)
{
    const struct nuc_zip_entry *entry = nuc_zip_find(zip, name);

    if (entry == NULL)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: has no entry %s: make it with golden_make.py or litert_make.py",
                 zip->path, name);
    return nuc_zip_read(zip, entry);
}

/* The text up to the end of the line, taken from `rest`; of size 0 after the last one. */
static struct nuc_span next_line(struct nuc_span *rest)
{
    const uint8_t *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    struct nuc_span line = {rest->data, end == NULL ? rest->size : (size_t)(end - rest->data)};
    size_t taken = line.size + (end != NULL);

    *rest = (struct nuc_span){rest->data + taken, rest->size - taken};
    return line;
}

static void run_line(struct nuc_context *cx, const struct file_run *r, struct nuc_span line, struct nuc_span data)
{
    struct nuc_json program = nuc_json_parse(cx, "programs", line);
    struct golden g;

    read_golden(&program, data, &g);
    size_t index = r->sum->lines++;
    if ((r->q->only != NULL && strstr(g.name, r->q->only) == NULL) || index % r->q->every != 0) {
        r->sum->stated--;
        return;
    }
    r->sum->programs++;
    struct nuc_json litert = nuc_json_entry(&program, "model");
    bool is_litert = nuc_json_is_there(&litert);
    struct nuc_span model = is_litert ? data_at(&litert, data) : make_archive(cx, &program, line, data);
    if (r->q->save != NULL) {
        nuc_write_file(cx, nuc_format(cx, "%s/%s.%s", r->q->save, g.name, is_litert ? "tflite" : "pt2"), model);
        r->sum->equal++;
        return;
    }
    enum outcome result = run_apart(r->q, &g, model);
    if (r->q->verbose && result == EQUAL)
        printf("%s: equal\n", g.name);
    fflush(stdout);
    r->sum->equal += result == EQUAL;
    r->sum->refused += result == REFUSED;
    r->sum->differ += result == DIFFERS;
    r->sum->crash += result == CRASHES;
}

static void run_file(struct nuc_context *cx, void *arg)
{
    const struct file_run *r = arg;
    const struct nuc_zip *zip = nuc_zip_open(cx, (struct nuc_stored){.path = r->q->file});
    struct nuc_span data = read_entry(zip, "data"), rest = read_entry(zip, "programs");
    struct nuc_json head = nuc_json_parse(cx, "programs", next_line(&rest)), count = nuc_json_field(&head, "count");

    r->sum->stated = (size_t)nuc_json_int(&count);
    while (rest.size != 0) {
        struct nuc_arena *outer = nuc_push_arena(cx);
        run_line(cx, r, next_line(&rest), data);
        nuc_pop_arena(cx, outer);
    }
}

static bool read_arguments(int argc, char **argv, struct request *q)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--verbose") == 0)
            q->verbose = true;
        else if (strcmp(argv[i], "--quantized") == 0)
            q->quantized = true;
        else if (strcmp(argv[i], "--executorch-ops-only") == 0)
            q->options.executorch_ops_only = true;
        else if (strcmp(argv[i], "--only") == 0)
            q->only = argv[++i < argc ? i : 0];
        else if (strcmp(argv[i], "--save") == 0)
            q->save = argv[++i < argc ? i : 0];
        else if (strcmp(argv[i], "--every") == 0) {
            q->every = strtoull(value, NULL, 10);
            i++;
        } else if (strcmp(argv[i], "--target") == 0) {
            q->options.target = value;
            i++;
        } else if (q->file == NULL && argv[i][0] != '-')
            q->file = argv[i];
        else
            return false;
    }
    q->options.no_quantize = !q->quantized;
    return q->file != NULL && q->every != 0;
}

int main(int argc, char **argv)
{
    struct request q = {.file = NULL, .every = 1};
    struct totals sum = {.programs = 0};
    struct nuc_context *cx = nuc_context_new(NULL);

    nuc_options_default(&q.options);
    q.options.threads = 1;
    if (!read_arguments(argc, argv, &q) || cx == NULL) {
        fprintf(stderr, "usage: golden FILE.zip [--only PART] [--every N] [--save DIR] [--verbose] [--target NAME] "
                        "[--executorch-ops-only] [--quantized]\n");
        return 2;
    }
    enum nuc_status s = nuc_try(cx, run_file, &(struct file_run){&q, &sum});
    if (s != NUC_OK)
        fprintf(stderr, "golden: %s\n", cx->message);
    nuc_context_free(cx);
    printf("%zu programs: %zu equal, %zu differ, %zu refused, %zu crash\n", sum.programs, sum.equal, sum.differ,
           sum.refused, sum.crash);
    if (sum.programs != sum.stated)
        printf("%zu programs are missing\n", sum.stated - sum.programs);
    return s == NUC_OK && sum.programs == sum.stated && sum.programs == sum.equal ? 0 : 1;
}
