/* A program in memory of the host: aligned blocks, the simulator's driver, dim orders. */
#include "nucleon/runner.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "archive/bundle.h"
#include "archive/file_kind.h"
#include "archive/program_package.h"
#include "archive/program_view.h"
#include "data/arrays.h"
#include "data/decision_json.h"
#include "driver/model_metadata.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/limits.h"
#include "host/process.h"
#include "nucleon/NeutronDriver.h"
#include "run/test_cases.h"
#include "run/vector_calls.h"

struct runner_io {
    char number[24];  /* "in0", "out0", ... */
    const char *name; /* what the program calls an input, the model an output; else the number */
    size_t bytes;     /* in the program */
    bool planned;     /* an output that the program does not leave to its caller */
    /* An int8 or int16 tensor whose quantization the program gives; real value = (q - zero_point) * scale. */
    bool quantized;
    double scale, zero_point, quant_min, quant_max;
    /* The caller gives or takes float32 instead. */
    bool as_float;
    size_t width; /* bytes of an element */
};

/* A program that is loaded: one runs at a time, others of the same image beside it. */
struct runner_lane {
    struct nuc_run_program run;
    bool loaded;
    struct nuc_detail detail; /* of the runtime's last call */
    /* Bytes of inputs and outputs in the program's dim order; NULL: an output in planned memory. */
    void **inputs, **outputs;
};

struct nuc_runner {
    struct nuc_compiler *c;
    struct nuc_sub_arena *memory; /* holds everything here */
    struct nuc_arena *arena;      /* its own */
    const char *name;
    unsigned char *image;
    size_t size;
    const struct nuc_bundle *bundle; /* NULL: the program came without test cases */
    bool driver;                     /* it has been started */
    struct nuc_simulator_options simulator;
    struct nuc_program_sizes sizes;
    struct runner_lane main;
    struct runner_lane *lanes; /* for threads side by side, made when they are needed */
    size_t n_lanes;
    size_t n_runs;      /* of the main lane */
    double run_seconds; /* of its last one */
    struct runner_io *inputs, *outputs;
    const struct nuc_metadata *metadata; /* NULL: the program says nothing */
    struct nuc_decider decider;          /* without a decision: the program says none */
};

/* ---- opening ---- */

/* Fails with one line out of what the runtime says. */
static void check_lane(const struct nuc_runner *r, const struct runner_lane *lane, enum nuc_status status)
{
    const struct nuc_detail *d = &lane->detail;
    struct nuc_context *cx = r->c->cx;

    if (status == NUC_OK)
        return;
    nuc_fail(cx, status, "%s: %s%s%s%s%.80s%s%s%s", r->name, d->message != NULL ? d->message : nuc_status_name(status),
             d->argument != NULL ? ": " : "", d->argument != NULL ? d->argument : "", d->where != NULL ? ", at " : "",
             d->where != NULL ? d->where : "",
             d->instruction >= 0 ? nuc_format(cx, ", instruction %d", (int)d->instruction) : "",
             d->value >= 0 ? nuc_format(cx, ", value %d", (int)d->value) : "",
             d->code != 0 ? nuc_format(cx, ", driver code 0x%x", (unsigned)d->code) : "");
}

static void check(const struct nuc_runner *r, enum nuc_status status)
{
    check_lane(r, &r->main, status);
}

/* Where the runtime leaves what goes wrong in the next call. */
static struct nuc_detail *fresh(struct runner_lane *lane)
{
    lane->detail = (struct nuc_detail){.instruction = -1, .value = -1};
    return &lane->detail;
}

/* What the model calls an output, if that can be an array's name and is no other output's number. */
static const char *key_of(const struct nuc_runner *r, size_t index)
{
    const char *key = r->metadata->outputs[index].key;
    bool is_number =
        key != NULL && strncmp(key, "out", 3) == 0 && key[3] != '\0' && key[3 + strspn(key + 3, "0123456789")] == '\0';

    return key != NULL && key[0] != '\0' && !is_number && !nuc_npz_leads_out(key) ? key : NULL;
}

static void make_io(const struct nuc_runner *r, bool is_input, size_t index, struct runner_io *io)
{
    struct nuc_tensor t;
    enum nuc_status s = is_input ? nuc_program_input_info(&r->main.run.program, index, &t)
                                 : nuc_program_output_info(&r->main.run.program, index, &t);

    snprintf(io->number, sizeof io->number, "%s%zu", is_input ? "in" : "out", index);
    io->name = io->number;
    const char *own = r->metadata == NULL ? NULL : is_input ? r->metadata->inputs[index].name : key_of(r, index);
    if (own != NULL)
        io->name = own;
    if (s != NUC_OK)
        return;
    io->width = nuc_dtype_size((enum nuc_dtype)t.dtype);
    if (t.dtype == NUC_I8 || t.dtype == NUC_I16) {
        /* Quantization of an int8 or int16 input or output, when the program gives it. */
        const struct {
            const char *key;
            double *value;
        } numbers[] = {{"scale", &io->scale},
                       {"zp", &io->zero_point},
                       {"quant_min", &io->quant_min},
                       {"quant_max", &io->quant_max}};
        io->quantized = true;
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            char name[48];
            snprintf(name, sizeof name, "%s%zu_%s", is_input ? "input" : "output", index, numbers[i].key);
            io->quantized &= nuc_program_number(r->image, r->size, name, numbers[i].value, NULL) == NUC_OK;
        }
        /* Numbers that no such tensor can have say nothing. */
        const double half = io->width == 1 ? INT8_MAX + 1 : INT16_MAX + 1;
        io->quantized = io->quantized && io->scale > 0 && io->scale <= (double)FLT_MAX && io->quant_min >= -half &&
                        io->quant_max < half && io->zero_point >= io->quant_min && io->zero_point <= io->quant_max;
    }
    io->bytes = t.bytes;
    io->planned = !is_input && (t.planned || t.constant);
}

/* What cannot be used is noted: a program runs without it. */
static void read_facts(struct nuc_runner *r)
{
    struct nuc_context *cx = r->c->cx;
    const void *data;
    const char *why = NULL;
    size_t size;

    if (nuc_program_named_data(r->image, r->size, NUC_METADATA_KEY, &data, &size, NULL) != NUC_OK)
        return;
    r->metadata = nuc_metadata_read(cx, (struct nuc_span){data, size}, &why);
    if (r->metadata != NULL && (r->metadata->n_inputs != nuc_program_n_inputs(&r->main.run.program) ||
                                r->metadata->n_outputs != nuc_program_n_outputs(&r->main.run.program))) {
        r->metadata = NULL;
        why = "it is of another number of inputs or outputs";
    }
    if (r->metadata == NULL)
        nuc_warn(cx, "%s: names, ranges and classes that the program carries are not used: %s", r->name, why);
}

/* ---- decisions ---- */

static void read_decision(struct nuc_runner *r)
{
    struct nuc_context *cx = r->c->cx;
    struct nuc_decision_rule *d = nuc_alloc(cx, sizeof *d);
    struct nuc_detail detail;
    const enum nuc_status status = nuc_program_decision(&r->main.run.program, d, &detail);

    if (status == NUC_UNSUPPORTED)
        return;
    if (status != NUC_OK) {
        nuc_warn(cx, "%s: the decision that the program carries is not used: %s", r->name, detail.message);
        return;
    }
    const size_t n_found = nuc_decision_found(d), n_history = nuc_decision_history(d);
    nuc_decider_init(&r->decider, d, nuc_alloc_array(cx, n_found, sizeof(struct nuc_found)), n_found,
                     nuc_alloc_array(cx, n_history + 1, sizeof(float)), n_history);
}

const struct nuc_decision_rule *nuc_runner_decision(const struct nuc_runner *r)
{
    return r->decider.decision;
}

const char *nuc_runner_label(const struct nuc_runner *r, int32_t label)
{
    const struct nuc_decision_rule *d = r->decider.decision;
    const char *const *names;

    if (d == NULL || (d->kind != NUC_DECIDE_CLASSES && d->kind != NUC_DECIDE_BOXES))
        return NULL;
    const size_t n = nuc_runner_classes(r, d->views[d->n_views - 1].output, &names);
    return label >= 0 && (size_t)label < n ? names[label] : NULL;
}

enum nuc_status nuc_runner_decide(struct nuc_runner *r, const struct nuc_decider **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), __func__, r->decider.decision != NULL && out != NULL);
        check(r, nuc_program_decide(&r->main.run.program, &r->decider));
        *out = &r->decider;
    }
    return nuc_leave(&call);
}

/* ---- opening, further ---- */

static void check_simulator(const struct nuc_runner *r, const struct nuc_simulator_options *o)
{
    struct nuc_context *cx = r->c->cx;

    if (nuc_simulator_path_name(o->path) == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--simulator: %d is not an enumerator: take one of runner.h", (int)o->path);
    if (!nuc_simulator_has_path(o->path))
        nuc_fail(cx, NUC_BAD_USAGE, "--simulator %s: this machine does not have it", nuc_simulator_path_name(o->path));
    if (o->threads > NUC_SIMULATOR_MAX_THREADS)
        nuc_fail(cx, NUC_BAD_USAGE, "--threads %u: at most %d", o->threads, NUC_SIMULATOR_MAX_THREADS);
}

static void configure(const struct nuc_runner *r, struct runner_lane *lane, const struct nuc_simulator_options *o)
{
    for (size_t i = 0; nuc_program_device(&lane->run.program, i) != NULL; i++) {
        if (nuc_simulator_configure(nuc_program_device(&lane->run.program, i), o) != ENONE)
            nuc_fail(r->c->cx, NUC_NO_MEMORY, "%s: the simulator has no memory", r->name);
    }
}

/* No other call of the driver may be under way when it starts or ends: the first runner starts it, the last ends it. */
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned driver_users;

static bool start_driver(void)
{
    pthread_mutex_lock(&driver_lock);
    bool good = driver_users > 0 || neutronInit() == ENONE;
    driver_users += good;
    pthread_mutex_unlock(&driver_lock);
    return good;
}

static void stop_driver(void)
{
    pthread_mutex_lock(&driver_lock);
    if (--driver_users == 0)
        neutronDeinit();
    pthread_mutex_unlock(&driver_lock);
}

static void unload(struct runner_lane *lane)
{
    if (lane->loaded)
        nuc_program_unload(&lane->run.program);
    nuc_vector_calls_close(&lane->run.calls);
}

static void release(void *runner)
{
    struct nuc_runner *r = runner;

    for (size_t i = 0; i < r->n_lanes; i++)
        unload(&r->lanes[i]);
    unload(&r->main);
    if (r->driver)
        stop_driver();
}

/* Memory that lives as long as the runner. */
static void *lane_memory(const struct nuc_runner *r, size_t size)
{
    return nuc_alloc_in(r->c->cx, r->arena, size);
}

/* Memory that a program asks for. A damaged one may ask for any size. */
static void *program_memory(const struct nuc_runner *r, size_t size)
{
    if (size > nuc_memory_limit())
        nuc_fail(r->c->cx, NUC_BAD_INPUT,
                 "%s: asks for %zu bytes of memory (limit %llu, half of this machine's): the file is damaged, or the "
                 "model too large; compile it again",
                 r->name, size, (unsigned long long)nuc_memory_limit());
    return lane_memory(r, size);
}

static void load(const struct nuc_runner *r, struct runner_lane *lane)
{
    const struct nuc_program_sizes *sizes = &r->sizes;
    struct nuc_program_memory m = {.state_size = sizes->state, .temporary_size = sizes->temporary};

    m.state = program_memory(r, sizes->state);
    m.temporary = program_memory(r, sizes->temporary);
    for (size_t i = 0; i < sizes->n_planned; i++)
        m.planned[i] = program_memory(r, m.planned_size[i] = sizes->planned[i]);
    check_lane(r, lane,
               nuc_program_load(&lane->run.program, r->image, r->size, &m, &lane->run.calls.table,
                                &nuc_default_backends, fresh(lane)));
    lane->loaded = true;
}

/* Blocks for the physical bytes of inputs, and of outputs that the program leaves to its caller. */
static void give_blocks(const struct nuc_runner *r, struct runner_lane *lane)
{
    const size_t n_inputs = nuc_program_n_inputs(&lane->run.program), n = nuc_program_n_outputs(&lane->run.program);

    lane->inputs = lane_memory(r, (n_inputs + 1) * sizeof *lane->inputs);
    lane->outputs = lane_memory(r, (n + 1) * sizeof *lane->outputs);
    for (size_t i = 0; i < n_inputs; i++)
        lane->inputs[i] = lane_memory(r, r->inputs[i].bytes);
    for (size_t i = 0; i < n; i++) {
        if (r->outputs[i].planned || r->outputs[i].width == 0)
            continue;
        lane->outputs[i] = lane_memory(r, r->outputs[i].bytes);
        check_lane(r, lane,
                   nuc_program_set_output(&lane->run.program, i, lane->outputs[i], r->outputs[i].bytes, fresh(lane)));
    }
}

static enum nuc_status open_runner(const char *call_name, struct nuc_compiler *c, struct nuc_stored input, bool given,
                                   const struct nuc_simulator_options *simulator, struct nuc_runner **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), call_name, given && input.path != NULL && out != NULL);
        struct nuc_sub_arena *memory = nuc_enter_sub_arena(c->cx);
        struct nuc_runner *r = nuc_alloc(c->cx, sizeof *r);
        if (input.bytes.data == NULL)
            nuc_expect_file(c->cx, input.path, NUC_FILE_PROGRAM);
        struct nuc_span file = input.bytes.data == NULL ? nuc_read_file(c->cx, input.path) : input.bytes;
        r->c = c;
        r->memory = memory;
        r->arena = c->cx->arena;
        r->name = nuc_strdup(c->cx, input.path);
        struct nuc_span program = nuc_program_of(c->cx, r->name, file);
        r->image = nuc_copy(c->cx, program.data, program.size);
        r->size = program.size;
        if (nuc_is_bundle(file)) {
            if (input.bytes.data != NULL)
                file.data = nuc_copy(c->cx, file.data, file.size);
            r->bundle = nuc_bundle_read(c->cx, r->name, file);
        }
        nuc_defer(c->cx, release, r);
        nuc_check_program_sum(c->cx, r->name, (struct nuc_span){r->image, r->size});
        r->driver = start_driver();
        r->simulator = simulator != NULL ? *simulator : (struct nuc_simulator_options){.path = NUC_SIMULATOR_BEST};
        check(r, nuc_program_sizes(r->image, r->size, &nuc_default_backends, &r->sizes, fresh(&r->main)));
        nuc_vector_calls_open(c->cx, r->size, &r->main.run.calls);
        load(r, &r->main);
        read_facts(r);
        size_t n_inputs = nuc_program_n_inputs(&r->main.run.program),
               n_outputs = nuc_program_n_outputs(&r->main.run.program);
        r->inputs = nuc_alloc_array(c->cx, n_inputs, sizeof *r->inputs);
        r->outputs = nuc_alloc_array(c->cx, n_outputs, sizeof *r->outputs);
        for (size_t i = 0; i < n_inputs; i++)
            make_io(r, true, i, &r->inputs[i]);
        for (size_t i = 0; i < n_outputs; i++)
            make_io(r, false, i, &r->outputs[i]);
        give_blocks(r, &r->main);
        read_decision(r);
        check_simulator(r, &r->simulator);
        if (simulator != NULL)
            configure(r, &r->main, simulator);
        nuc_vector_calls_start(c->cx, &r->main.run, r->simulator.path, r->simulator.threads);
        nuc_leave_sub_arena(c->cx, memory);
        *out = r;
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_runner_open(struct nuc_compiler *c, const char *path, const struct nuc_simulator_options *simulator,
                                struct nuc_runner **out)
{
    return open_runner(__func__, c, (struct nuc_stored){.path = path}, true, simulator, out);
}

enum nuc_status nuc_runner_open_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                      const struct nuc_simulator_options *simulator, struct nuc_runner **out)
{
    return open_runner(__func__, c, (struct nuc_stored){name, {bytes, size}}, bytes != NULL, simulator, out);
}

void nuc_runner_close(struct nuc_runner *r)
{
    if (r != NULL)
        nuc_free_sub_arena(r->memory);
}

enum nuc_status nuc_runner_sizes(struct nuc_compiler *c, const char *path, struct nuc_program_sizes *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && out != NULL);
        struct nuc_arena *outer = nuc_push_arena(c->cx);
        struct nuc_span file = nuc_read_program(c->cx, path);
        struct nuc_runner r = {.c = c, .name = path, .size = file.size};
        r.image = nuc_copy(c->cx, file.data, file.size);
        check(&r, nuc_program_sizes(r.image, r.size, &nuc_default_backends, out, fresh(&r.main)));
        nuc_pop_arena(c->cx, outer);
    }
    return nuc_leave(&call);
}

/* ---- inputs and outputs ---- */

size_t nuc_runner_n_inputs(const struct nuc_runner *r)
{
    return nuc_program_n_inputs(&r->main.run.program);
}

size_t nuc_runner_n_outputs(const struct nuc_runner *r)
{
    return nuc_program_n_outputs(&r->main.run.program);
}

static enum nuc_status describe(enum nuc_status s, const struct nuc_tensor *t, const struct runner_io *io,
                                struct nuc_tensor_info *out)
{
    if (s != NUC_OK)
        return s;
    *out = (struct nuc_tensor_info){.name = io->name};
    out->dtype = io->as_float ? NUC_F32 : (enum nuc_dtype)t->dtype;
    out->rank = t->rank;
    out->bytes = io->as_float ? t->bytes / io->width * sizeof(float) : t->bytes;
    for (size_t i = 0; i < t->rank && i < NUC_MAX_RANK; i++) {
        out->sizes[i] = t->sizes[i];
        out->dim_order[i] = t->dim_order[i];
    }
    return NUC_OK;
}

enum nuc_status nuc_runner_input(const struct nuc_runner *r, size_t index, struct nuc_tensor_info *out)
{
    struct nuc_tensor t;
    enum nuc_status s = nuc_program_input_info(&r->main.run.program, index, &t);

    return describe(s, &t, s == NUC_OK ? &r->inputs[index] : NULL, out);
}

enum nuc_status nuc_runner_output(const struct nuc_runner *r, size_t index, struct nuc_tensor_info *out)
{
    struct nuc_tensor t;
    enum nuc_status s = nuc_program_output_info(&r->main.run.program, index, &t);

    return describe(s, &t, s == NUC_OK ? &r->outputs[index] : NULL, out);
}

bool nuc_runner_is_quantized_output(const struct nuc_runner *r, size_t index)
{
    return r->outputs[index].quantized;
}

void nuc_runner_float_outputs(struct nuc_runner *r)
{
    for (size_t i = 0; i < nuc_runner_n_outputs(r); i++)
        r->outputs[i].as_float = r->outputs[i].quantized;
}

void nuc_runner_suit(struct nuc_runner *r, const struct nuc_dataset *data)
{
    bool any = false;

    for (size_t i = 0; i < nuc_dataset_n_arrays(data); i++) {
        struct nuc_array_info a;
        if (nuc_dataset_array(data, i, &a) == NUC_OK && (a.dtype == NUC_I8 || a.dtype == NUC_I16) &&
            !nuc_is_label_array(a.name))
            return;
    }
    for (size_t i = 0; i < nuc_runner_n_inputs(r); i++) {
        r->inputs[i].as_float = r->inputs[i].quantized;
        any |= r->inputs[i].quantized;
    }
    if (any)
        nuc_runner_float_outputs(r);
}

const struct nuc_bundle *nuc_runner_bundle(const struct nuc_runner *r)
{
    return r->bundle;
}

const struct nuc_metadata *nuc_runner_metadata(const struct nuc_runner *r)
{
    return r->metadata;
}

const void *nuc_runner_image(const struct nuc_runner *r, size_t *size)
{
    *size = r->size;
    return r->image;
}

struct nuc_program *nuc_runner_program(struct nuc_runner *r)
{
    return &r->main.run.program;
}

const void *nuc_runner_raw(const struct nuc_runner *r, bool input, size_t index, size_t *bytes)
{
    struct nuc_tensor t = {.data = NULL};

    if (input) {
        *bytes = r->inputs[index].bytes;
        return r->main.inputs[index];
    }
    *bytes = nuc_program_output(&r->main.run.program, index, &t) == NUC_OK ? t.bytes : 0;
    return t.data;
}

struct nuc_compiler *nuc_runner_compiler(const struct nuc_runner *r)
{
    return r != NULL ? r->c : NULL;
}

bool nuc_runner_knows_data(const struct nuc_runner *r)
{
    return r->metadata != NULL;
}

const char *nuc_runner_output_name(const struct nuc_runner *r, size_t index)
{
    return r->metadata != NULL ? r->metadata->outputs[index].name : NULL;
}

size_t nuc_runner_classes(const struct nuc_runner *r, size_t index, const char *const **names)
{
    *names = r->metadata != NULL ? r->metadata->outputs[index].classes : NULL;
    return r->metadata != NULL ? r->metadata->outputs[index].n_classes : 0;
}

/* ---- data ---- */

/* Names of a model whose inputs are the program's, for a program that has none. */
static void name_inputs(const struct nuc_runner *r, const struct nuc_model *named_after, struct nuc_tensor_info *inputs)
{
    size_t n = nuc_runner_n_inputs(r);

    for (size_t i = 0; i < n; i++) {
        if (nuc_runner_input(r, i, &inputs[i]) != NUC_OK)
            nuc_fail(r->c->cx, NUC_UNSUPPORTED, "%s: input %zu is not a tensor", r->name, i);
        if (r->metadata == NULL && named_after != NULL && i < nuc_model_n_inputs(named_after))
            inputs[i].name = nuc_input_name(named_after, i);
    }
}

enum nuc_status nuc_runner_bind(struct nuc_runner *r, struct nuc_dataset *data, const struct nuc_model *named_after,
                                size_t *n_samples)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), __func__, data != NULL && n_samples != NULL);
        size_t n = nuc_runner_n_inputs(r);
        struct nuc_tensor_info *inputs = nuc_alloc_array(r->c->cx, n, sizeof *inputs);
        nuc_runner_suit(r, data);
        name_inputs(r, named_after, inputs);
        data->metadata = r->metadata;
        data->front_end = r->metadata != NULL && r->metadata->n_front_ends > 0 ? r->metadata->front_ends[0].text : NULL;
        data->has_states = nuc_program_n_states(&r->main.run.program) > 0;
        nuc_dataset_bind_inputs(data, inputs, n, NULL);
        nuc_dataset_look(data);
        nuc_dataset_judge(data);
        nuc_dataset_describe(data);
        *n_samples = data->n_samples;
    }
    return nuc_leave(&call);
}

/* ---- running ---- */

/* One element: copied, or between float32 outside and int8 or int16 inside. */
struct element_move {
    size_t outside, inside; /* bytes */
    const struct runner_io *io;
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
    int16_t number = (int16_t)(q < m->io->quant_max ? q : m->io->quant_max);
    if (m->inside == sizeof number)
        memcpy(to, &number, sizeof number);
    else
        *(signed char *)to = (signed char)number;
}

static void move_out(const struct element_move *m, const char *from, char *to)
{
    if (!m->io->as_float) {
        memcpy(to, from, m->inside);
        return;
    }
    int16_t number = *(const signed char *)from;
    if (m->inside == sizeof number)
        memcpy(&number, from, sizeof number);
    float value = (float)((double)number - m->io->zero_point) * (float)m->io->scale;
    memcpy(to, &value, sizeof value);
}

/*
 * Walks the tensor in logical order; physical strides follow from the dim order. `outside` is in logical order,
 * `inside` are the program's bytes.
 */
static void rearrange(const struct nuc_tensor_info *t, const struct runner_io *io, char *outside, char *inside, bool in)
{
    size_t size = nuc_dtype_size(t->dtype);
    const struct element_move move = {size, io->as_float ? io->width : size, io};
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

/* By any thread: what goes wrong is in the lane's detail. */
static enum nuc_status run_lane(const struct nuc_runner *r, struct runner_lane *lane, const void *const *inputs,
                                void *const *outputs)
{
    struct nuc_program *p = &lane->run.program;
    struct nuc_tensor_info info;
    struct nuc_tensor t;
    enum nuc_status status = NUC_OK;

    for (size_t i = 0; i < p->n_inputs && status == NUC_OK; i++) {
        (void)nuc_runner_input(r, i, &info);
        rearrange(&info, &r->inputs[i], (char *)(uintptr_t)inputs[i], lane->inputs[i], true);
        status = nuc_program_set_input(p, i, lane->inputs[i], r->inputs[i].bytes, fresh(lane));
    }
    if (status == NUC_OK)
        status = nuc_program_execute(p, fresh(lane));
    for (size_t i = 0; i < p->n_outputs && status == NUC_OK; i++) {
        (void)nuc_runner_output(r, i, &info);
        (void)nuc_program_output(p, i, &t);
        rearrange(&info, &r->outputs[i], outputs[i], t.data, false);
    }
    return status;
}

/* Of a tensor without bytes there need not be a place. */
static void check_tensors(const struct nuc_runner *r)
{
    struct nuc_tensor t;

    for (size_t i = 0; i < nuc_runner_n_inputs(r); i++) {
        if (nuc_program_input_info(&r->main.run.program, i, &t) != NUC_OK)
            nuc_fail(r->c->cx, NUC_UNSUPPORTED, "%s: input %zu is not a tensor", r->name, i);
    }
    for (size_t i = 0; i < nuc_runner_n_outputs(r); i++) {
        if (nuc_program_output(&r->main.run.program, i, &t) != NUC_OK || t.data == NULL)
            nuc_fail(r->c->cx, NUC_UNSUPPORTED, "%s: output %zu is not a tensor", r->name, i);
    }
}

static void run_main(struct nuc_runner *r, const void *const *inputs, void *const *outputs)
{
    const double started = nuc_seconds();

    check(r, run_lane(r, &r->main, inputs, outputs));
    r->run_seconds = nuc_seconds() - started;
    r->n_runs++;
}

enum nuc_status nuc_runner_run(struct nuc_runner *r, const void *const *inputs, void *const *outputs)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), __func__, inputs != NULL && outputs != NULL);
        check_tensors(r);
        run_main(r, inputs, outputs);
    }
    return nuc_leave(&call);
}

/* ---- several at a time ---- */

#define WARM_RUNS 3          /* by one thread: plain, planned, and the one that says how long it takes */
#define LEAST_SECONDS 0.0005 /* of work that is shared out: starting threads takes a tenth of it */

/* Samples that lanes take one after the other. */
struct batch {
    const struct nuc_runner *r;
    const void *const *inputs;
    void *const *outputs;
    size_t n;
    atomic_size_t next;
};

struct batch_thread {
    struct batch *batch;
    struct runner_lane *lane;
    enum nuc_status status;
    bool started;
    pthread_t id;
};

static void *run_batch(void *arg)
{
    struct batch_thread *t = arg;
    struct batch *b = t->batch;
    const size_t n_inputs = nuc_runner_n_inputs(b->r), n_outputs = nuc_runner_n_outputs(b->r);

    for (size_t k; t->status == NUC_OK && (k = atomic_fetch_add(&b->next, 1)) < b->n;)
        t->status = run_lane(b->r, t->lane, b->inputs + k * n_inputs, b->outputs + k * n_outputs);
    return NULL;
}

static size_t threads_of(const struct nuc_runner *r)
{
    const size_t cores = nuc_cores(), most = cores < NUC_SIMULATOR_MAX_THREADS ? cores : NUC_SIMULATOR_MAX_THREADS;

    if (nuc_program_n_states(&r->main.run.program) > 0)
        return 1;
    return r->simulator.threads != 0 && r->simulator.threads < most ? r->simulator.threads : most;
}

/* The caller is one of the threads; those that cannot be started leave their share to it. */
static void share_batch(struct nuc_runner *r, size_t n_threads, struct batch *b)
{
    struct batch_thread *threads = nuc_alloc_array(r->c->cx, n_threads, sizeof *threads);
    const struct nuc_simulator_options one = {r->simulator.path, 1};

    /* Lanes for all threads. */
    if (r->lanes == NULL)
        r->lanes = lane_memory(r, n_threads * sizeof *r->lanes);
    while (r->n_lanes < n_threads) {
        struct runner_lane *lane = &r->lanes[r->n_lanes++];
        if (!nuc_vector_calls_share(&lane->run.calls, &r->main.run.calls))
            nuc_fail(r->c->cx, NUC_NO_MEMORY, "%s: the simulator has no memory", r->name);
        load(r, lane);
        give_blocks(r, lane);
        if (one.path != NUC_SIMULATOR_BEST) /* which a program is prepared for */
            configure(r, lane, &one);
    }
    for (size_t i = 0; i < n_threads; i++) {
        threads[i] = (struct batch_thread){.batch = b, .lane = &r->lanes[i]};
        threads[i].started = i > 0 && pthread_create(&threads[i].id, NULL, run_batch, &threads[i]) == 0;
    }
    run_batch(&threads[0]);
    for (size_t i = 1; i < n_threads; i++) {
        if (threads[i].started)
            pthread_join(threads[i].id, NULL);
    }
    for (size_t i = 0; i < n_threads; i++)
        check_lane(r, threads[i].lane, threads[i].status);
}

enum nuc_status nuc_runner_run_batch(struct nuc_runner *r, size_t n, const void *const *inputs, void *const *outputs)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), __func__, inputs != NULL && outputs != NULL);
        const size_t n_inputs = nuc_runner_n_inputs(r), n_outputs = nuc_runner_n_outputs(r), threads = threads_of(r);
        size_t k = 0;
        check_tensors(r);
        while (k < n && (threads < 2 || n - k < 2 || r->n_runs < WARM_RUNS ||
                         r->run_seconds * (double)(n - k) < LEAST_SECONDS)) {
            run_main(r, inputs + k * n_inputs, outputs + k * n_outputs);
            k++;
        }
        if (k < n) {
            struct batch b = {.r = r, .inputs = inputs + k * n_inputs, .outputs = outputs + k * n_outputs, .n = n - k};
            atomic_init(&b.next, 0);
            share_batch(r, threads, &b);
        }
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_runner_reset(struct nuc_runner *r)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), __func__, r != NULL);
        check(r, nuc_program_reset(&r->main.run.program, fresh(&r->main)));
        if (r->decider.decision != NULL)
            nuc_decider_reset(&r->decider);
    }
    return nuc_leave(&call);
}

/* ---- states ---- */

size_t nuc_runner_states_size(const struct nuc_runner *r)
{
    struct nuc_tensor t;
    size_t size = 0;

    for (size_t i = 0; nuc_program_state(&r->main.run.program, i, &t) == NUC_OK; i++)
        size += t.bytes;
    return size;
}

/* Each of `save` and `restore` is NULL in the other's case. */
static enum nuc_status move_states(const char *call_name, struct nuc_runner *r, char *save, const char *restore,
                                   size_t size)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), call_name, save != NULL || restore != NULL);
        struct nuc_tensor t;
        if (size != nuc_runner_states_size(r))
            nuc_fail(r->c->cx, NUC_BAD_USAGE,
                     "%s: its states have %zu bytes, and %zu are given: are they of this program?", r->name,
                     nuc_runner_states_size(r), size);
        for (size_t i = 0, at = 0; nuc_program_state(&r->main.run.program, i, &t) == NUC_OK; at += t.bytes, i++)
            memcpy(save != NULL ? save + at : t.data, save != NULL ? t.data : restore + at, t.bytes);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_runner_save_states(struct nuc_runner *r, void *to, size_t size)
{
    return move_states(__func__, r, to, NULL, size);
}

enum nuc_status nuc_runner_restore_states(struct nuc_runner *r, const void *from, size_t size)
{
    return move_states(__func__, r, NULL, from, size);
}
