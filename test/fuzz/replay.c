/*
 * Stands in for libFuzzer in ordinary builds, and checks in all builds that the inputs are alive:
 *
 *     replay [--mutations N] [--corruptions N] [--seed N] [--refused FILE] [--floors FILE TARGET] PATH...
 *     replay --write-refused FILE PATH...
 *
 * gives each file, and each file of each folder, to the target: it is accepted, unless FILE has a line "NAME: message",
 * in which case it is refused with a message that begins so. Then come N variants of each, and N variants with one
 * other byte and N with several, spread over all files. The seed is fixed unless given, so that a failure comes back.
 * The floors of TARGET, a line of FILE, are what must be reached at least: edges by the files alone, where the compiler
 * counts them, variants accepted, and different refusals. --write-refused makes FILE, for somebody to look through.
 * --keep: accepted variants are written there.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "fuzz_support.h"

#define MOST_FILES 8192
#define MOST_MESSAGE 70 /* characters of a message that are written: the cause, seldom the remedy */
#define MOST_GROWTH 64  /* bytes that a variant may be longer than its file */
#define MOST_SECONDS 60 /* of the CPU, for an input, which takes milliseconds */

/* Structured targets have one; it may call LLVMFuzzerMutate() below. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

struct input {
    uint8_t *data;
    size_t size;
    char name[512];
};

struct inputs {
    struct input *items;
    size_t count;
};

/* Of the random numbers; a file's own, since LLVMFuzzerMutate() has no other way to it. */
static uint64_t random_state = 0x9E3779B97F4A7C15u;

/* ---- edges: clang's -fsanitize=fuzzer-no-link counts them ---- */

#define MOST_MODULES 8

static struct module {
    uint8_t *counters;
    bool *reached;
    size_t count;
} modules[MOST_MODULES];

void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);

void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop)
{
    for (size_t i = 0; i < MOST_MODULES && start != stop; i++) {
        if (modules[i].counters == start)
            return;
        if (modules[i].counters == NULL) {
            modules[i] = (struct module){start, calloc((size_t)(stop - start), 1), (size_t)(stop - start)};
            return;
        }
    }
}

/* Counters go round after 256: they are looked at after each input. */
static void note_edges(void)
{
    for (size_t i = 0; i < MOST_MODULES; i++) {
        for (size_t k = 0; modules[i].reached != NULL && k < modules[i].count; k++)
            modules[i].reached[k] |= modules[i].counters[k] != 0;
    }
}

static size_t count_edges(size_t *all)
{
    size_t n = 0;

    *all = 0;
    for (size_t i = 0; i < MOST_MODULES; i++) {
        *all += modules[i].count;
        for (size_t k = 0; modules[i].reached != NULL && k < modules[i].count; k++)
            n += modules[i].reached[k];
    }
    return n;
}

/* xorshift64: the same sequence everywhere. */
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t below(uint64_t *state, size_t limit)
{
    return limit == 0 ? 0 : (size_t)(next(state) % limit);
}

static void add_file(struct inputs *in, const char *path)
{
    FILE *f = fopen(path, "rb");

    if (f == NULL || in->count == MOST_FILES) {
        fprintf(stderr, "replay: %s: cannot be read\n", path);
        exit(2);
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    struct input *i = &in->items[in->count++];
    i->size = size < 0 ? 0 : (size_t)size;
    i->data = malloc(i->size + 1);
    if (i->data == NULL || fread(i->data, 1, i->size, f) != i->size)
        exit(2);
    snprintf(i->name, sizeof i->name, "%s", path);
    fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct input *)a)->name, ((const struct input *)b)->name);
}

static void add_path(struct inputs *in, const char *path)
{
    char file[1024];
    size_t first = in->count;
    DIR *dir = opendir(path);

    if (dir == NULL) {
        add_file(in, path);
        return;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && stat(file, &st) == 0 && S_ISREG(st.st_mode))
            add_file(in, file);
    }
    closedir(dir);
    qsort(in->items + first, in->count - first, sizeof *in->items, by_name);
}

/* Values that sit at the edges of counts and offsets. */
static void plant_number(uint64_t *state, uint8_t *data, size_t size)
{
    static const uint32_t numbers[] = {0,      1,      2,       0x7F,       0x80,       0xFF,       0x100,      0x7FFF,
                                       0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, 16};
    uint32_t v = numbers[below(state, sizeof numbers / sizeof numbers[0])];
    size_t width = (size_t)1 << below(state, 3);

    if (size < width)
        return;
    size_t at = below(state, size - width + 1);
    if (next(state) & 1)
        at -= at % width;
    for (size_t i = 0; i < width; i++)
        data[at + i] = (uint8_t)(v >> (8 * i));
}

/* One small change, a piece of another input, or a cut. */
static size_t change(uint64_t *state, uint8_t *data, size_t size, const uint8_t *other, size_t other_size)
{
    size_t at = below(state, size), length = 1 + below(state, 64);

    switch (below(state, 6)) {
    case 0:
        data[at] ^= (uint8_t)(1u << below(state, 8));
        return size;
    case 1:
        data[at] = (uint8_t)next(state);
        return size;
    case 2:
    case 3:
        plant_number(state, data, size);
        return size;
    case 4:
        if (other_size >= length && size - at >= length)
            memmove(data + at, other + below(state, other_size - length + 1), length);
        return size;
    default:
        return below(state, 4) == 0 ? at : size;
    }
}

/* What libFuzzer gives to custom mutators. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    if (size == 0 && max_size != 0)
        data[size++] = 0;
    return size == 0 ? 0 : change(&random_state, data, size, data, size);
}

/* A variant of `base` in a new block: one to four changes. */
static uint8_t *mutate(uint64_t *state, const struct input *base, const struct input *other, size_t *size)
{
    uint8_t *data = malloc(base->size + MOST_GROWTH);

    if (data == NULL)
        abort();
    memcpy(data, base->data, base->size);
    *size = base->size;
    for (size_t changes = 1 + below(state, 4); changes > 0 && *size > 0; changes--) {
        if (LLVMFuzzerCustomMutator != NULL && next(state) & 1)
            *size = LLVMFuzzerCustomMutator(data, *size, base->size + MOST_GROWTH, (unsigned)next(state));
        else
            *size = change(state, data, *size, other->data, other->size);
    }
    return data;
}

/* A variant that differs in one byte, or in two to sixteen anywhere. */
static uint8_t *corrupt(uint64_t *state, const struct input *base, bool many)
{
    uint8_t *data = malloc(base->size + 1);

    if (data == NULL)
        abort();
    memcpy(data, base->data, base->size);
    for (size_t changes = many ? 2 + below(state, 15) : 1; changes > 0 && base->size > 0; changes--)
        data[below(state, base->size)] ^= (uint8_t)(1 + below(state, 255));
    return data;
}

/* What is being tried, for who looks at a failure; sanitizers end with this signal under abort_on_error=1. */
static struct {
    const uint8_t *data;
    size_t size;
} under_way;

static void save_input(int number)
{
    FILE *f = fopen("replay.broken", "wb");

    if (f != NULL) {
        fwrite(under_way.data, 1, under_way.size, f);
        fclose(f);
        fputs("replay: the input is in replay.broken\n", stderr);
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* The block given has exactly `size` bytes, so that a sanitizer sees the first byte beyond. NULL: accepted. */
static const char *give(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size == 0 ? 1 : size);

    if (exact == NULL)
        abort();
    memcpy(exact, data, size);
    under_way.data = data;
    under_way.size = size;
    fuzz_take_verdict();
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {MOST_SECONDS, 0}}, NULL);
    LLVMFuzzerTestOneInput(exact, size);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {0, 0}}, NULL);
    free(exact);
    return fuzz_take_verdict();
}

#define MOST_REFUSALS 4096

struct plan {
    size_t mutations, corruptions;
    const char *refused, *floors, *target, *keep;
    bool write; /* `refused` */
    size_t accepted, given, n_refusals;
    uint32_t refusals[MOST_REFUSALS]; /* checksums of messages without their figures */
};

/* Of a program with its checksum, as the target has seen it. */
static void keep_variant(const struct plan *plan, const uint8_t *data, size_t size)
{
    char path[1024];
    uint8_t *copy = fuzz_copy(data, size);

    snprintf(path, sizeof path, "%s/%zu", plan->keep, plan->accepted);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(copy, 1, size, f) != size || fclose(f) != 0) {
        fprintf(stderr, "replay: %s: cannot be written\n", path);
        exit(2);
    }
    free(copy);
}

static void give_variant(struct plan *plan, const uint8_t *data, size_t size)
{
    const char *why = give(data, size);
    char text[256] = "";
    size_t n = 0;

    plan->given++;
    plan->accepted += why == NULL;
    if (why == NULL && plan->keep != NULL)
        keep_variant(plan, data, size);
    for (; why != NULL && *why != '\0' && n < sizeof text; why++) {
        if (*why < '0' || *why > '9')
            text[n++] = *why;
    }
    uint32_t sum = fuzz_checksum((const uint8_t *)text, n);
    for (size_t i = 0; i < plan->n_refusals && n != 0; i++) {
        if (plan->refusals[i] == sum)
            return;
    }
    if (n != 0 && plan->n_refusals < MOST_REFUSALS)
        plan->refusals[plan->n_refusals++] = sum;
}

static bool read_arguments(int argc, char **argv, struct inputs *in, struct plan *plan)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            add_path(in, argv[i]);
            continue;
        }
        const char *option = argv[i], *value = argv[++i];
        if (i == argc)
            return false;
        if (strcmp(option, "--mutations") == 0)
            plan->mutations = (size_t)strtoull(value, NULL, 10);
        else if (strcmp(option, "--corruptions") == 0)
            plan->corruptions = (size_t)strtoull(value, NULL, 10);
        else if (strcmp(option, "--seed") == 0)
            random_state ^= strtoull(value, NULL, 10) << 1;
        else if (strcmp(option, "--keep") == 0)
            plan->keep = value;
        else if (strcmp(option, "--refused") == 0)
            plan->refused = value;
        else if (strcmp(option, "--write-refused") == 0)
            plan->write = (plan->refused = value) != NULL;
        else if (strcmp(option, "--floors") == 0 && i + 1 < argc) {
            plan->floors = value;
            plan->target = argv[++i];
        } else
            return false;
    }
    return in->count != 0;
}

/* ---- what is expected ---- */

static const char *file_name(const struct input *i)
{
    const char *slash = strrchr(i->name, '/');

    return slash == NULL ? i->name : slash + 1;
}

/* The message with which the file is to be refused, in `line`; NULL: it is to be accepted. */
static const char *expected_refusal(FILE *list, const struct input *in, char *line, int size)
{
    const char *name = file_name(in);
    size_t length = strlen(name);

    if (list == NULL)
        return NULL;
    rewind(list);
    while (fgets(line, size, list) != NULL) {
        if (strncmp(line, name, length) != 0 || strncmp(line + length, ": ", 2) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        return line + length + 2;
    }
    return NULL;
}

static bool as_expected(const struct input *in, const char *expected, const char *why)
{
    if (expected == NULL && why == NULL)
        return true;
    if (expected == NULL)
        fprintf(stderr, "replay: %s: is refused: %s\n", in->name, why);
    else if (why == NULL)
        fprintf(stderr, "replay: %s: is accepted, not refused: %s\n", in->name, expected);
    else if (strncmp(why, expected, strlen(expected)) == 0)
        return true;
    else
        fprintf(stderr, "replay: %s: is refused: %s\n    instead of: %s\n", in->name, why, expected);
    return false;
}

/* The files themselves. */
static size_t give_files(struct inputs *in, const struct plan *plan)
{
    FILE *list = plan->refused == NULL ? NULL : fopen(plan->refused, plan->write ? "w" : "r");
    char line[2048];
    size_t wrong = 0;

    for (size_t i = 0; i < in->count; i++) {
        const char *why = give(in->items[i].data, in->items[i].size);
        note_edges();
        if (!plan->write)
            wrong += !as_expected(&in->items[i], expected_refusal(list, &in->items[i], line, sizeof line), why);
        else if (why != NULL)
            fprintf(list, "%s: %.*s\n", file_name(&in->items[i]), MOST_MESSAGE, why);
    }
    if (list != NULL)
        fclose(list);
    return wrong;
}

static void give_mutations(struct inputs *in, struct plan *plan)
{
    for (size_t i = 0; i < in->count; i++) {
        for (size_t k = 0; k < plan->mutations; k++) {
            size_t size;
            uint8_t *data = mutate(&random_state, &in->items[i], &in->items[below(&random_state, in->count)], &size);
            give_variant(plan, data, size);
            free(data);
        }
    }
}

static void give_corruptions(struct inputs *in, struct plan *plan)
{
    for (size_t k = 0; k < 2 * plan->corruptions; k++) {
        const struct input *base = &in->items[k / 2 % in->count];
        uint8_t *data = corrupt(&random_state, base, k % 2 != 0);
        give_variant(plan, data, base->size);
        free(data);
    }
}

/* ---- floors ---- */

static bool reaches(const struct plan *plan, const char *what, size_t got, size_t floor)
{
    if (got >= floor)
        return true;
    fprintf(stderr, "replay: %s: %zu %s, the floor is %zu: the inputs do not reach what they did (%s)\n", plan->target,
            got, what, floor, plan->floors);
    return false;
}

static bool above_floors(const struct plan *plan, size_t edges, size_t all)
{
    FILE *f = plan->floors == NULL ? NULL : fopen(plan->floors, "r");
    char line[256], name[64];
    size_t floor_edges, floor_accepted, floor_refusals;
    bool found = plan->floors == NULL, good = true;

    while (!found && f != NULL && fgets(line, sizeof line, f) != NULL) {
        found = sscanf(line, "%63s %zu %zu %zu", name, &floor_edges, &floor_accepted, &floor_refusals) == 4 &&
                strcmp(name, plan->target) == 0;
    }
    if (f != NULL)
        fclose(f);
    if (!found) {
        fprintf(stderr, "replay: %s has no line for %s\n", plan->floors, plan->target);
        return false;
    }
    if (plan->floors == NULL)
        return true;
    if (all != 0)
        good = reaches(plan, "edges", edges, floor_edges);
    if (plan->given != 0) {
        good = reaches(plan, "variants accepted", plan->accepted, floor_accepted) && good;
        good = reaches(plan, "different refusals", plan->n_refusals, floor_refusals) && good;
    }
    return good;
}

int main(int argc, char **argv)
{
    struct inputs in = {calloc(MOST_FILES, sizeof *in.items), 0};
    struct plan *plan = calloc(1, sizeof *plan);
    size_t all;

    if (in.items == NULL || plan == NULL)
        return 2;
    if (!read_arguments(argc, argv, &in, plan)) {
        fprintf(stderr, "usage: replay [--mutations N] [--corruptions N] [--seed N] [--keep DIR] "
                        "[--refused FILE] [--floors FILE TARGET] FILE|DIR...\n");
        return 2;
    }
    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(&argc, &argv);
    signal(SIGABRT, save_input);
    signal(SIGPROF, save_input);
    size_t wrong = give_files(&in, plan), edges = count_edges(&all);
    give_mutations(&in, plan);
    give_corruptions(&in, plan);
    printf("%zu inputs, %zu not as expected, %zu of %zu edges; %zu variants, %zu accepted, %zu different refusals\n",
           in.count, wrong, edges, all, plan->given, plan->accepted, plan->n_refusals);
    bool good = above_floors(plan, edges, all) && wrong == 0;
    for (size_t i = 0; i < in.count; i++)
        free(in.items[i].data);
    free(in.items);
    free(plan);
    return good ? 0 : 1;
}
