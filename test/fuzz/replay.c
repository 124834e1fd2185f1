/*
 * Stands in for libFuzzer in ordinary builds: replay [--mutations N] [--corruptions N] [--seed N] PATH... gives each
 * file, and each file of each folder, to the target, then N variants of each, then N variants with one other byte and N
 * with several, spread over all files. The seed is fixed unless given, so that a failure comes back.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz_support.h"

#define MOST_FILES 4096

struct input {
    uint8_t *data;
    size_t size;
    char name[512];
};

struct inputs {
    struct input *items;
    size_t count;
};

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
    qsort(in->items, in->count, sizeof *in->items, by_name);
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

/* A variant of `base` in a new block: one to four small changes, a piece of another input, or a cut. */
static uint8_t *mutate(uint64_t *state, const struct input *base, const struct input *other, size_t *size)
{
    uint8_t *data = malloc(base->size + 64);

    if (data == NULL)
        abort();
    memcpy(data, base->data, base->size);
    *size = base->size;
    for (size_t changes = 1 + below(state, 4); changes > 0 && *size > 0; changes--) {
        size_t at = below(state, *size), length = 1 + below(state, 64);
        switch (below(state, 6)) {
        case 0:
            data[at] ^= (uint8_t)(1u << below(state, 8));
            break;
        case 1:
            data[at] = (uint8_t)next(state);
            break;
        case 2:
        case 3:
            plant_number(state, data, *size);
            break;
        case 4:
            if (other->size >= length && *size - at >= length)
                memcpy(data + at, other->data + below(state, other->size - length + 1), length);
            break;
        default:
            if (below(state, 4) == 0)
                *size = at;
            break;
        }
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

/* The block given has exactly `size` bytes, so that a sanitizer sees the first byte beyond. */
static void give(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size == 0 ? 1 : size);

    if (exact == NULL)
        abort();
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

struct plan {
    size_t mutations, corruptions;
    uint64_t state; /* of the random numbers */
};

static bool read_arguments(int argc, char **argv, struct inputs *in, struct plan *plan)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            add_path(in, argv[i]);
            continue;
        }
        if (i + 1 == argc)
            return false;
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--mutations") == 0)
            plan->mutations = (size_t)number;
        else if (strcmp(argv[i], "--corruptions") == 0)
            plan->corruptions = (size_t)number;
        else if (strcmp(argv[i], "--seed") == 0)
            plan->state ^= number << 1;
        else
            return false;
        i++;
    }
    return in->count != 0;
}

static void give_mutations(struct inputs *in, struct plan *plan)
{
    for (size_t i = 0; i < in->count; i++) {
        give(in->items[i].data, in->items[i].size);
        for (size_t k = 0; k < plan->mutations; k++) {
            size_t size;
            uint8_t *data = mutate(&plan->state, &in->items[i], &in->items[below(&plan->state, in->count)], &size);
            give(data, size);
            free(data);
        }
    }
}

static void give_corruptions(struct inputs *in, struct plan *plan)
{
    for (size_t k = 0; k < 2 * plan->corruptions; k++) {
        const struct input *base = &in->items[k / 2 % in->count];
        uint8_t *data = corrupt(&plan->state, base, k % 2 != 0);
        give(data, base->size);
        free(data);
    }
}

int main(int argc, char **argv)
{
    struct inputs in = {calloc(MOST_FILES, sizeof *in.items), 0};
    struct plan plan = {.state = 0x9E3779B97F4A7C15u};

    if (in.items == NULL)
        return 2;
    if (!read_arguments(argc, argv, &in, &plan)) {
        fprintf(stderr, "usage: replay [--mutations N] [--corruptions N] [--seed N] FILE|DIR...\n");
        return 2;
    }
    give_mutations(&in, &plan);
    give_corruptions(&in, &plan);
    printf("%zu inputs, %zu variants of each, %zu with one other byte, %zu with several\n", in.count, plan.mutations,
           plan.corruptions, plan.corruptions);
    for (size_t i = 0; i < in.count; i++)
        free(in.items[i].data);
    free(in.items);
    return 0;
}
