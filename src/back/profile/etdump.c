/* Profiles as an ETDump, in the tables of ExecuTorch's devtools/etdump/etdump_schema_flatcc.fbs. */
#include <string.h>

#include "back/profile/profile.h"
#include "host/file.h"
#include "host/flatbuilder.h"

enum { DUMP_VERSION, DUMP_RUNS };
enum { RUN_NAME, RUN_BUNDLED_INPUT, RUN_ALLOCATORS, RUN_EVENTS };
enum { EVENT_PROFILE };
enum {
    PROFILE_NAME,
    PROFILE_CHAIN,
    PROFILE_INSTRUCTION,
    PROFILE_DELEGATE_INT,
    PROFILE_DELEGATE_STRING,
    PROFILE_METADATA,
    PROFILE_START,
    PROFILE_END
};

struct event {
    const char *name, *delegate_name;        /* NULL: none; an event has the number of a kernel or its name */
    int32_t chain, instruction, delegate_id; /* -1: none */
    const uint8_t *metadata;                 /* one byte, NULL: none */
    uint64_t start, end;
};

static nuc_fb_ref add_event(struct nuc_fb_builder *b, const struct event *e)
{
    nuc_fb_ref name = e->name != NULL ? nuc_fb_add_string(b, e->name) : 0;
    nuc_fb_ref delegate_name = e->delegate_name != NULL ? nuc_fb_add_string(b, e->delegate_name) : 0;
    nuc_fb_ref metadata = e->metadata != NULL ? nuc_fb_add_vector(b, e->metadata, 1, 1, 1) : 0;

    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, PROFILE_NAME, name);
    nuc_fb_put_i32(b, PROFILE_CHAIN, e->chain, 0);
    nuc_fb_put_i32(b, PROFILE_INSTRUCTION, e->instruction, -1);
    nuc_fb_put_i32(b, PROFILE_DELEGATE_INT, e->delegate_id, -1);
    nuc_fb_put_ref(b, PROFILE_DELEGATE_STRING, delegate_name);
    nuc_fb_put_ref(b, PROFILE_METADATA, metadata);
    nuc_fb_put_u64(b, PROFILE_START, e->start, 0);
    nuc_fb_put_u64(b, PROFILE_END, e->end, 0);
    nuc_fb_ref profile = nuc_fb_table_end(b);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, EVENT_PROFILE, profile);
    return nuc_fb_table_end(b);
}

/* "conv1 + relu (train.py:23)"; NULL: the program does not say. */
static const char *place_text(struct nuc_context *cx, const struct nuc_profile_row *row)
{
    if (row->label == NULL || row->source == NULL)
        return row->label;
    return nuc_format(cx, "%s (%s)", row->label, nuc_base_name(row->source));
}

/*
 * What ExecuTorch's runtime and its NeutronBackend log: OPERATOR_CALL and DELEGATE_CALL around instructions, within a
 * delegate call an event for each kernel, numbered from 0 with the function code as metadata, and one for the end.
 * Where the program has labels, they are part of the names of operators, and kernels have names instead of numbers:
 * without an ETRecord the Inspector has nothing else to say what an event is of, and of number and name it shows the
 * number. Names begin with the number, since one call may have kernels of the same label.
 */
static void add_row_events(struct nuc_context *cx, struct nuc_fb_builder *b, const struct nuc_profile *p, size_t at,
                           nuc_fb_ref *refs, size_t *count)
{
    static const uint8_t dump = 0;
    const struct nuc_profile_row *row = &p->rows[at];
    const char *place = place_text(cx, row);
    struct event e = {.instruction = (int32_t)row->instruction,
                      .delegate_id = -1,
                      .start = row->start,
                      .end = row->start + row->cycles};

    if (row->kind == NUC_PROFILE_KERNEL) {
        e.delegate_id = place == NULL ? (int32_t)row->kernel : -1;
        e.delegate_name = place != NULL ? nuc_format(cx, "%u %s: %s", row->kernel, row->what, place) : NULL;
        e.metadata = &row->metadata;
        refs[(*count)++] = add_event(b, &e);
        bool last = at + 1 == p->n_rows || p->rows[at + 1].kind != NUC_PROFILE_KERNEL;
        if (last) {
            e.delegate_id = (int32_t)row->kernel + 1;
            e.delegate_name = NULL;
            e.metadata = &dump;
            e.start = e.end;
            refs[(*count)++] = add_event(b, &e);
        }
        return;
    }
    if (row->kind == NUC_PROFILE_CPU) {
        const char *scope = strstr(row->what, "::");
        e.name = nuc_format(cx, "native_call_%s%s%s", scope != NULL ? scope + 2 : row->what, place != NULL ? ": " : "",
                            place != NULL ? place : "");
        refs[(*count)++] = add_event(b, &e);
    }
    e.name = row->kind == NUC_PROFILE_CPU ? "OPERATOR_CALL" : "DELEGATE_CALL";
    e.end += row->call_cycles;
    refs[(*count)++] = add_event(b, &e);
}

/* A FlatBuffer is built from the inside out: all events first, then what holds them. */
static nuc_fb_ref add_run(struct nuc_context *cx, struct nuc_fb_builder *b, const struct nuc_profile *p)
{
    nuc_fb_ref *refs = nuc_alloc_array(cx, 2 * p->n_rows + 1, sizeof *refs);
    size_t count = 0;

    for (size_t i = 0; i < p->n_rows; i++)
        add_row_events(cx, b, p, i, refs, &count);
    refs[count++] = add_event(
        b, &(struct event){
               .name = "Method::execute", .chain = -1, .instruction = -1, .delegate_id = -1, .end = p->cycles});
    nuc_fb_ref events = nuc_fb_add_refs(b, refs, count);
    nuc_fb_ref name = nuc_fb_add_string(b, "Execute");
    nuc_fb_ref allocators = nuc_fb_add_refs(b, NULL, 0);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, RUN_NAME, name);
    nuc_fb_put_i32(b, RUN_BUNDLED_INPUT, -1, -1);
    nuc_fb_put_ref(b, RUN_ALLOCATORS, allocators);
    nuc_fb_put_ref(b, RUN_EVENTS, events);
    return nuc_fb_table_end(b);
}

struct nuc_span nuc_profile_dump(struct nuc_context *cx, const struct nuc_profile *const *runs, size_t n_runs)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(cx);
    nuc_fb_ref *refs = nuc_alloc_array(cx, n_runs, sizeof *refs);

    for (size_t i = 0; i < n_runs; i++)
        refs[i] = add_run(cx, b, runs[i]);
    nuc_fb_ref list = nuc_fb_add_refs(b, refs, n_runs);
    nuc_fb_table_begin(b);
    nuc_fb_put_u32(b, DUMP_VERSION, 0, 0);
    nuc_fb_put_ref(b, DUMP_RUNS, list);
    return nuc_fb_finish_prefixed(b, nuc_fb_table_end(b), "ED00");
}
