/* The memory of the last program: figures, map, and the budget it is held to. */
#include "compiler/report/memory_map.h"

#include <string.h>

#include "compiler/driver/driver.h"
#include "host/file.h"

static struct nuc_map_pool arena_pool(struct nuc_context *cx, const struct nuc_program_memory_report *memory)
{
    struct nuc_map_tensor *tensors = nuc_alloc_array(cx, memory->n_tensors, sizeof *tensors);

    for (size_t i = 0; i < memory->n_tensors; i++) {
        const struct nuc_program_tensor *t = &memory->tensors[i];
        tensors[i] = (struct nuc_map_tensor){t->name, t->size, t->address, t->first, t->last};
    }
    return (struct nuc_map_pool){.name = "arena",
                                 .step = "instruction",
                                 .size = memory->planned,
                                 .bound = memory->lower_bound,
                                 .proven = memory->proven,
                                 .n_tensors = memory->n_tensors,
                                 .tensors = tensors};
}

static struct nuc_map_pool scratch_pool(struct nuc_context *cx, const struct nuc_lowered_partition *p)
{
    const struct nuc_neutron_image *image = p->image;
    struct nuc_map_tensor *tensors = nuc_alloc_array(cx, image->n_buffers, sizeof *tensors);

    for (uint32_t i = 0; i < image->n_buffers; i++) {
        const struct nuc_neutron_buffer *b = &image->buffers[i];
        tensors[i] = (struct nuc_map_tensor){b->name, b->size, b->address, b->first, b->last};
    }
    return (struct nuc_map_pool){.name = nuc_format(cx, "NPU scratch of %s", p->info.tag),
                                 .step = "kernel call",
                                 .size = image->scratch_size,
                                 .bound = image->scratch_bound,
                                 .proven = image->scratch_proven,
                                 .n_tensors = image->n_buffers,
                                 .tensors = tensors};
}

static void report_scratch(struct nuc_program_report *r, const struct nuc_neutron_image *image)
{
    r->scratch_proven = r->scratch_proven && image->scratch_proven;
    if (image->scratch_size <= r->delegate_scratch)
        return;
    r->delegate_scratch = image->scratch_size;
    r->scratch_bound = image->scratch_bound;
}

void nuc_report_memory(struct nuc_model *lowered, const struct nuc_program_memory_report *memory)
{
    struct nuc_compiler *c = lowered->c;
    uint32_t n = lowered->partitions->count;
    struct nuc_memory_map *map = nuc_alloc(c->cx, sizeof *map);
    struct nuc_map_pool *pools = nuc_alloc_array(c->cx, (size_t)n + 1, sizeof *pools);

    c->report.arena = memory->planned;
    c->report.arena_lower_bound = memory->lower_bound;
    c->report.arena_proven = memory->proven;
    c->report.delegate_scratch = c->report.scratch_bound = 0;
    c->report.scratch_proven = true;
    c->report.scratch_in_arena = c->options.plan_delegate_scratch;
    pools[0] = arena_pool(c->cx, memory);
    for (uint32_t i = 0; i < n; i++) {
        report_scratch(&c->report, lowered->lowered[i].image);
        pools[i + 1] = scratch_pool(c->cx, &lowered->lowered[i]);
    }
    *map = (struct nuc_memory_map){lowered->graph->file, (size_t)n + 1, pools};
    c->memory = map;
}

void nuc_check_memory_budget(struct nuc_compiler *c, const char *model)
{
    const struct nuc_program_report *r = &c->report;
    size_t scratch = r->scratch_in_arena ? 0 : r->delegate_scratch;
    size_t needed = r->arena + scratch, budget = c->options.memory_budget;

    if (budget > 0 && needed > budget)
        nuc_fail(c->cx, NUC_PROPERTY,
                 "%s: needs %zu bytes of memory (arena %zu, NPU scratch %zu), the budget is %zu: make the tensors that "
                 "are alive at the peak smaller",
                 model, needed, r->arena, scratch, budget);
}

static bool is_svg(const char *path)
{
    size_t length = strlen(path);

    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

void nuc_write_memory_map(struct nuc_compiler *c)
{
    struct nuc_text text;

    if (c->options.memory_map == NULL)
        return;
    nuc_text_init(&text, c->cx);
    if (is_svg(c->options.memory_map))
        nuc_draw_memory_map(&text, c->memory);
    else
        nuc_print_memory_map(&text, c->memory);
    const char *string = nuc_text_string(&text);
    nuc_write_file(c->cx, c->options.memory_map, (struct nuc_span){(const uint8_t *)string, text.length});
}

struct map_call {
    struct nuc_compiler *c;
    enum nuc_map_form form;
    const char *text;
};

static void make_map(struct nuc_context *cx, void *arg)
{
    struct map_call *call = arg;
    struct nuc_text text;

    if (call->c->memory == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "no program has been made yet");
    nuc_text_init(&text, cx);
    if (call->form == NUC_MAP_SVG)
        nuc_draw_memory_map(&text, call->c->memory);
    else if (call->form == NUC_MAP_PEAK)
        nuc_print_memory_peak(&text, call->c->memory);
    else
        nuc_print_memory_map(&text, call->c->memory);
    call->text = nuc_text_string(&text);
}

enum nuc_status nuc_memory_map(struct nuc_compiler *c, enum nuc_map_form form, const char **text)
{
    struct map_call call = {c, form, NULL};
    enum nuc_status status = nuc_enter(c, make_map, &call);

    *text = call.text;
    return status;
}
