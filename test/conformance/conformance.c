/*
 * conformance [--check NAME]... [--verbose] DIR: walks a tree laid out like the reference data and prints for each
 * check how many cases agree with the reference, and which differ in what. Exit code 0 when nothing differs.
 */
#include "conformance.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The largest models take seconds; what takes longer than this hangs. */
#define CASE_SECONDS 300

/* The compiler a check runs with; PLAIN: with the options nobody gave. */
enum compiler_kind { NONE, PLAIN, BY_DEFAULT, AS_REFERENCE };

static const struct {
    const char *name;
    conf_check *run;
    enum compiler_kind compiler;
    const char *files; /* which a case needs, a blank between them */
    const char *what;
} checks[] = {
    {"qparams", check_qparams, AS_REFERENCE, "fp32.pt2 calib.npz qdq.graph.json",
     "observers and quantized graph from the float model and its calibration samples"},
    {"decisions", check_decisions, AS_REFERENCE, "decisions.json qdq.pt2",
     "every node of the Edge graph: delegated or not, in which partition"},
    {"litert", check_litert, AS_REFERENCE, "decisions.json qdq.pt2",
     "operators, options, tensors and constants of each partition's LiteRT model"},
    {"moved", check_moved, AS_REFERENCE, "decisions.json qdq.pt2",
     "transposes and bytes they move: the reference's, ours in reference mode, ours by default"},
    {"outputs", check_outputs, AS_REFERENCE, "delegate_io.npz qdq.pt2",
     "int8 outputs of each partition on the simulator"},
    {"defaults", check_defaults, BY_DEFAULT, "delegate_io.npz qdq.pt2",
     "the same in the default mode; of programs with other partitions, their outputs"},
    {"float", check_float, AS_REFERENCE, "fp32.pt2 golden.npz", "float outputs of the evaluator"},
    {"qdq", check_qdq, AS_REFERENCE, "qdq.pt2 golden.npz", "outputs of the evaluator on the quantized graph"},
    {"sqnr", check_sqnr, PLAIN, "fp32.pt2 calib.npz golden.npz",
     "SQNR of the quantized graph in the default mode, of the reference's, of its Edge graph"},
    {"program", check_program, AS_REFERENCE, "pte.json qdq.pt2", "structure of the program file"},
    {"nodelegate", check_nodelegate, AS_REFERENCE, "nodelegate.pte",
     "outputs of the reference's CPU-only programs on our runtime"},
    {"cortexm", check_cortexm, NONE, "summary.json",
     "operators and arguments of graphs lowered for Cortex-M, from the float model"},
    {"cmpte", check_cortex_m_program, AS_REFERENCE, "pte golden.npz",
     "outputs of the reference's Cortex-M programs on the runtime"},
    {"converted", check_converted, NONE, "tflite", "NeutronGraph containers of the vendor's converter, taken apart"},
    {"memory", check_memory, BY_DEFAULT, "",
     "arena and scratch: proven optimal, and as small as others have made them"},
    {"models", check_models, NONE, "tflite",
     "LiteRT models through reader, converter and simulator, every value of an inference"},
    {"tflite", check_tflite, PLAIN, "", "outputs of imported LiteRT models and of the reference's partition files"},
};

#define N_CHECKS (sizeof checks / sizeof checks[0])

struct case_list {
    struct conf_case *items;
    size_t count, capacity;
};

enum conf_result conf_differ(struct conf_report *r, const char *format, ...)
{
    va_list args;

    if (r->filled)
        return CONF_DIFFERENT;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    r->filled = true;
    return CONF_DIFFERENT;
}

enum conf_result conf_failed(struct conf_report *r, const struct nuc_compiler *compiler, const char *what)
{
    return conf_differ(r, "%s: %s", what, nuc_compiler_message(compiler));
}

bool conf_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fabs(b);
}

bool conf_path(const struct conf_case *c, const char *suffix, char *out, size_t size)
{
    struct stat st;
    int n = snprintf(out, size, "%s/%s.%s", c->folder, c->name, suffix);

    return n > 0 && (size_t)n < size && stat(out, &st) == 0;
}

json_t *conf_json(const struct conf_case *c, const char *suffix)
{
    char path[4096];

    if (!conf_path(c, suffix, path, sizeof path))
        return NULL;
    return json_load_file(path, 0, NULL);
}

/* The reference's test flow keeps these operators; its command line none. */
static const char *const preserved_in_tests[] = {"aten.prelu.default", "aten.pad.default", "aten.hardswish.default"};

static struct nuc_compiler *make_compiler(const struct conf_case *c, bool reference_compat)
{
    struct nuc_options o;
    json_t *summary = conf_json(c, "summary.json");
    const char *flow = json_string_value(json_object_get(summary, "flow"));

    nuc_options_default(&o);
    o.reference_compat = reference_compat;
    o.placement = NUC_PLACEMENT_GREEDY; /* decisions and figures are compared with the reference's, which is greedy */
    if (flow != NULL && strcmp(flow, "test") == 0) {
        o.preserve_ops = preserved_in_tests;
        o.n_preserve_ops = sizeof preserved_in_tests / sizeof preserved_in_tests[0];
    }
    json_decref(summary);
    return nuc_compiler_new(&o, NULL);
}

struct nuc_compiler *conf_compiler(const struct conf_case *c)
{
    return make_compiler(c, true);
}

struct nuc_compiler *conf_default_compiler(const struct conf_case *c)
{
    return make_compiler(c, false);
}

struct nuc_model *conf_partitioned(struct nuc_compiler *compiler, const struct conf_case *c, const char *suffix,
                                   struct conf_report *r)
{
    char path[4096];
    struct nuc_model *model, *partitioned;

    conf_path(c, suffix, path, sizeof path);
    if (nuc_model_open(compiler, path, &model) != NUC_OK) {
        conf_failed(r, compiler, "import");
        return NULL;
    }
    if (nuc_partition(model, &partitioned) != NUC_OK) {
        conf_failed(r, compiler, "partition");
        return NULL;
    }
    return partitioned;
}

struct nuc_model *conf_lowered(struct nuc_compiler *compiler, const struct conf_case *c, const char *suffix,
                               struct conf_report *r)
{
    struct nuc_model *partitioned = conf_partitioned(compiler, c, suffix, r);
    struct nuc_model *lowered = NULL;

    if (partitioned != NULL && nuc_lower(partitioned, &lowered) != NUC_OK) {
        conf_failed(r, compiler, "lower");
        return NULL;
    }
    return lowered;
}

static char *join(const char *a, const char *separator, const char *b)
{
    size_t size = strlen(a) + strlen(separator) + strlen(b) + 1;
    char *text = malloc(size);

    if (text == NULL)
        abort();
    snprintf(text, size, "%s%s%s", a, separator, b);
    return text;
}

/* A case of the reference system has a summary; a model made by others is a file whose name has one dot. */
static size_t stem_length(const char *file)
{
    static const char *const suffixes[] = {".summary.json", ".tflite"};
    size_t length = strlen(file);

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);
        if (length > n && strcmp(file + length - n, suffixes[i]) == 0 &&
            (i == 0 || strchr(file, '.') == file + length - n))
            return length - n;
    }
    return 0;
}

static void add_case(struct case_list *list, const char *folder, const char *file, size_t root_length)
{
    size_t stem = stem_length(file);

    if (stem == 0)
        return;
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        list->items = realloc(list->items, list->capacity * sizeof *list->items);
        if (list->items == NULL)
            abort();
    }
    struct conf_case *c = &list->items[list->count++];
    c->folder = join(folder, "", "");
    c->name = join(file, "", "");
    c->name[stem] = '\0';
    const char *below = folder + root_length + (folder[root_length] == '/');
    c->label = join(below, below[0] != '\0' ? ":" : "", c->name);
    c->cortex_m = strstr(folder, "/cortex_m/") != NULL;
    json_t *summary = conf_json(c, "summary.json");
    c->refused = json_is_false(json_object_get(summary, "ok"));
    json_decref(summary);
}

static bool is_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Depth first with a list of folders still to visit. */
static void find_cases(struct case_list *list, const char *root)
{
    size_t n_folders = 1, at = 0, capacity = 64;
    char **folders = malloc(capacity * sizeof *folders);

    if (folders == NULL)
        abort();
    folders[0] = join(root, "", "");
    for (; at < n_folders; at++) {
        DIR *dir = opendir(folders[at]);
        for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
            char *path = join(folders[at], "/", e->d_name);
            bool visit = e->d_name[0] != '.' && is_folder(path);
            if (!visit) {
                add_case(list, folders[at], e->d_name, strlen(root));
                free(path);
                continue;
            }
            if (n_folders == capacity) {
                capacity *= 2;
                folders = realloc(folders, capacity * sizeof *folders);
                if (folders == NULL)
                    abort();
            }
            folders[n_folders++] = path;
        }
        if (dir != NULL)
            closedir(dir);
    }
    for (size_t i = 0; i < n_folders; i++)
        free(folders[i]);
    free(folders);
}

static int by_label(const void *a, const void *b)
{
    const struct conf_case *x = a, *y = b;

    return strcmp(x->label, y->label);
}

/*
 * Runs a check in a process of its own, so that a crash or an endless loop on one case costs that case alone. The
 * report comes back through a pipe.
 */
static enum conf_result run_row(size_t check, const struct conf_case *k, struct conf_report *r)
{
    enum compiler_kind kind = checks[check].compiler;
    struct nuc_compiler *c = NULL;
    struct nuc_options plain;
    char path[4096], file[32];
    int length;

    for (const char *p = checks[check].files; sscanf(p, " %31s%n", file, &length) == 1; p += length) {
        if (!conf_path(k, file, path, sizeof path))
            return CONF_ABSENT;
    }
    nuc_options_default(&plain);
    plain.placement = NUC_PLACEMENT_GREEDY;
    if (kind != NONE)
        c = kind == PLAIN ? nuc_compiler_new(&plain, NULL) : make_compiler(k, kind == AS_REFERENCE);
    if (kind != NONE && c == NULL)
        return conf_differ(r, "out of memory");
    enum conf_result result = checks[check].run(c, k, r);
    nuc_compiler_free(c);
    return result;
}

/* In a process of its own, which may crash or hang. */
static enum conf_result run_case(size_t check, const struct conf_case *c, struct conf_report *r)
{
    int ends[2], status = 0;
    struct answer {
        enum conf_result result;
        struct conf_report report;
    } answer = {.report = *r};

    fflush(NULL);
    if (pipe(ends) != 0)
        return conf_differ(r, "no pipe");
    pid_t child = fork();
    if (child < 0)
        return conf_differ(r, "no process");
    if (child == 0) {
        close(ends[0]);
        alarm(CASE_SECONDS);
        answer.result = run_row(check, c, &answer.report);
        ssize_t written = write(ends[1], &answer, sizeof answer);
        _exit(written == (ssize_t)sizeof answer ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], &answer, sizeof answer);
    close(ends[0]);
    waitpid(child, &status, 0);
    if (got != (ssize_t)sizeof answer && WIFSIGNALED(status))
        return conf_differ(r, "ended by signal %d%s", WTERMSIG(status),
                           WTERMSIG(status) == SIGALRM ? ": not done in time" : "");
    if (got != (ssize_t)sizeof answer)
        return conf_differ(r, "ended with code %d without a result", WEXITSTATUS(status));
    *r = answer.report;
    return answer.result;
}

struct sqnr_mean {
    double own, reference, edge;
    size_t count;
};

static void add_sqnr(struct sqnr_mean *mean, const struct conf_case *c, const struct conf_report *r)
{
    if (!r->has_sqnr)
        return;
    double edge = isnan(r->edge_sqnr) ? r->reference_sqnr : r->edge_sqnr;
    printf("  %7.2f %7.2f %7.2f dB  %s\n", r->sqnr, r->reference_sqnr, edge, c->label);
    mean->edge += edge;
    mean->own += r->sqnr;
    mean->reference += r->reference_sqnr;
    mean->count++;
}

static void print_sqnr(const struct sqnr_mean *mean)
{
    if (mean->count != 0)
        printf("  %7.2f %7.2f %7.2f dB  mean of %zu cases\n", mean->own / (double)mean->count,
               mean->reference / (double)mean->count, mean->edge / (double)mean->count, mean->count);
}

static void print_moved(const struct conf_report *r, const char *label)
{
    printf("  %3lu %7lu  %3lu %7lu  %3lu %7lu  %3lu %7lu  %s\n", r->reference.transposes, r->reference.bytes,
           r->compat.transposes, r->compat.bytes, r->own.transposes, r->own.bytes, r->whole.transposes, r->whole.bytes,
           label);
}

static void add_moved(struct conf_report *sum, const struct conf_report *r)
{
    sum->has_moved = true;
    sum->reference.transposes += r->reference.transposes;
    sum->reference.bytes += r->reference.bytes;
    sum->compat.transposes += r->compat.transposes;
    sum->compat.bytes += r->compat.bytes;
    sum->own.transposes += r->own.transposes;
    sum->own.bytes += r->own.bytes;
    sum->whole.transposes += r->whole.transposes;
    sum->whole.bytes += r->whole.bytes;
}

/* Returns how many cases differ. */
static size_t run_check(size_t check, const struct case_list *list, bool verbose)
{
    size_t equal = 0, different = 0, refused = 0, reordered = 0;
    unsigned long near_misses = 0;
    struct sqnr_mean mean = {0, 0, 0, 0};
    struct conf_report all = {.filled = false}, multi = {.filled = false}, small = {.filled = false};

    printf("== %s: %s\n", checks[check].name, checks[check].what);
    for (size_t i = 0; i < list->count; i++) {
        const struct conf_case *c = &list->items[i];
        struct conf_report r = {.filled = false, .verbose = verbose, .near_misses = 0};
        bool for_cpu = checks[check].run == check_cortex_m_program || checks[check].run == check_cortexm;
        bool meant = c->cortex_m == for_cpu;
        enum conf_result result = meant ? run_case(check, c, &r) : CONF_ABSENT;
        if (result == CONF_ABSENT) {
            refused += meant && c->refused;
            continue;
        }
        reordered += result == CONF_EQUAL && r.reordered;
        if (result == CONF_EQUAL)
            equal++;
        else
            different++;
        near_misses += r.near_misses;
        add_sqnr(&mean, c, &r);
        if (r.has_moved && (r.reference.transposes != 0 || r.own.transposes != 0))
            print_moved(&r, c->label);
        if (r.has_memory)
            printf("  arena %9zu  scratch %9zu%s  %s\n", r.arena, r.scratch,
                   result == CONF_EQUAL ? "  proven" : "        ", c->label);
        if (r.has_moved)
            add_moved(&all, &r);
        if (r.has_moved && r.multi)
            add_moved(&multi, &r);
        if (r.has_moved && r.multi && !r.network)
            add_moved(&small, &r);
        if (result == CONF_DIFFERENT)
            printf("  differs  %s: %s\n", c->label, r.text);
        else if (verbose)
            printf("  equal    %s%s\n", c->label, r.reordered ? ", nodes in another order" : "");
    }
    print_sqnr(&mean);
    if (all.has_moved) {
        print_moved(&all, "all cases: reference, reference mode, default, default from the float model");
        print_moved(&multi, "the same of the cases with several operators");
        print_moved(&small, "the same without networks, which keep the one at a contiguous input");
    }
    printf("%s: equal %zu of %zu", checks[check].name, equal, equal + different);
    if (reordered != 0)
        printf(", %zu of them with nodes in another order", reordered);
    if (near_misses != 0)
        printf(", %lu values one step apart", near_misses);
    if (refused != 0)
        printf(", %zu that the reference itself refuses", refused);
    printf("\n");
    fflush(stdout);
    return different;
}

static int usage(void)
{
    fprintf(stderr, "usage: conformance [--check NAME]... [--verbose] DIR\nchecks:\n");
    for (size_t i = 0; i < N_CHECKS; i++)
        fprintf(stderr, "  %-10s %s\n", checks[i].name, checks[i].what);
    return 2;
}

static bool select_check(const char *name, bool *selected)
{
    for (size_t i = 0; i < N_CHECKS; i++) {
        if (strcmp(checks[i].name, name) == 0) {
            selected[i] = true;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    bool selected[N_CHECKS] = {false}, any = false, verbose = false;
    const char *root = NULL;
    struct case_list list = {NULL, 0, 0};
    size_t different = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0 && i + 1 < argc) {
            if (!select_check(argv[++i], selected))
                return usage();
            any = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
        } else if (argv[i][0] == '-' || root != NULL) {
            return usage();
        } else {
            root = argv[i];
        }
    }
    if (root == NULL)
        return usage();
    find_cases(&list, root);
    if (list.count == 0) {
        fprintf(stderr, "conformance: %s: no case (NAME.summary.json) below this folder\n", root);
        return 2;
    }
    qsort(list.items, list.count, sizeof *list.items, by_label);
    for (size_t i = 0; i < N_CHECKS; i++) {
        if (!any || selected[i])
            different += run_check(i, &list, verbose);
    }
    for (size_t i = 0; i < list.count; i++) {
        free(list.items[i].folder);
        free(list.items[i].name);
        free(list.items[i].label);
    }
    free(list.items);
    return different == 0 ? 0 : 1;
}
