/* Runs of program and float model over a data set, and what they are counted into. */
#include "nucleon/evaluate.h"

#include <math.h>
#include <string.h>

#include "data/class_folders.h"
#include "host/clock.h"
#include "host/numbers.h"
#include "host/text.h"
#include "tools/evaluate/scored_output.h"

void nuc_evaluate_options_default(struct nuc_evaluate_options *options)
{
    *options = (struct nuc_evaluate_options){
        .class_axis = NUC_CLASS_AXIS_AUTO,
        .ignore_label = NUC_NO_LABEL,
        .min_accuracy = (double)NAN,
        .min_agreement = (double)NAN,
        .min_sqnr = (double)NAN,
        .max_false_alarms = (double)NAN,
    };
}

static bool same_sizes(const struct nuc_tensor_info *a, const struct nuc_tensor_info *b)
{
    return a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

/* ---- what there is ---- */

static void check_reference(const struct nuc_scoring *s)
{
    size_t n = nuc_runner_n_inputs(s->runner);
    struct nuc_tensor_info *inputs = nuc_alloc_array(s->cx, n, sizeof *inputs), t;

    if (nuc_model_n_inputs(s->reference) != n)
        nuc_fail(s->cx, NUC_BAD_USAGE, "%s: has %zu inputs, the program %zu: give the model it was compiled from",
                 nuc_model_file(s->reference), nuc_model_n_inputs(s->reference), n);
    for (size_t i = 0; i < n; i++) {
        if (nuc_runner_input(s->runner, i, &inputs[i]) != NUC_OK)
            nuc_fail(s->cx, NUC_UNSUPPORTED, "the program's input %zu is not a tensor", i);
        nuc_check(s->cx, nuc_model_input(s->reference, i, &t));
        if (!same_sizes(&t, &inputs[i]))
            nuc_fail(s->cx, NUC_BAD_USAGE, "%s: input '%s' has shape %s, the program's %s%s",
                     nuc_model_file(s->reference), t.name, nuc_sizes_text(s->cx, t.sizes, t.rank),
                     nuc_sizes_text(s->cx, inputs[i].sizes, inputs[i].rank),
                     inputs[i].dtype != t.dtype ? ": where it has a front end, give --front-end here, too" : "");
        if (t.dtype != inputs[i].dtype)
            nuc_fail(s->cx, NUC_BAD_USAGE,
                     "%s: input '%s' is %s, the program's %s: give the data set as %s, the program takes it converted",
                     nuc_model_file(s->reference), t.name, nuc_dtype_name(t.dtype), nuc_dtype_name(inputs[i].dtype),
                     nuc_dtype_name(t.dtype));
    }
    /*
     * Inputs of two models correspond by place: names in another order are of a model with another order of arguments.
     */
    for (size_t i = 0; i < n; i++) {
        const char *name = nuc_input_facts(s->reference, i).name;
        for (size_t k = 0; k < n && nuc_runner_knows_data(s->runner); k++) {
            if (k != i && strcmp(inputs[k].name, name) == 0 && strcmp(inputs[i].name, name) != 0)
                nuc_fail(
                    s->cx, NUC_BAD_USAGE,
                    "%s: input %zu is '%.60s', which is input %zu of the program: give the model it was compiled from",
                    nuc_model_file(s->reference), i, name, k);
        }
    }
}

static void open_output(struct nuc_scoring *s, size_t i)
{
    struct nuc_scored_output *o = &s->outputs[i];
    struct nuc_tensor_info r;

    if (nuc_runner_output(s->runner, i, &o->score->info) != NUC_OK)
        nuc_fail(s->cx, NUC_UNSUPPORTED, "the program's output %zu is not a tensor", i);
    o->program_type = o->reference_type = o->score->info.dtype;
    o->n_elements = o->score->info.bytes / nuc_dtype_size(o->program_type);
    /* The reference's name of it, else the program's. */
    const char *own = nuc_runner_output_name(s->runner, i);
    o->score->name = s->reference != NULL ? nuc_output_facts(s->reference, i).name
                     : own != NULL        ? own
                                          : nuc_format(s->cx, "output%zu", i);
    if (s->reference != NULL) {
        nuc_check(s->cx, nuc_model_output(s->reference, i, &r));
        const struct nuc_tensor_info *p = &o->score->info;
        if (!same_sizes(p, &r))
            nuc_fail(s->cx, NUC_BAD_USAGE, "%s: output '%s' has shape %s, the program's %s",
                     nuc_model_file(s->reference), o->score->name, nuc_sizes_text(s->cx, r.sizes, r.rank),
                     nuc_sizes_text(s->cx, p->sizes, p->rank));
        if (nuc_is_integer(p->dtype) != nuc_is_integer(r.dtype))
            nuc_fail(s->cx, NUC_BAD_USAGE, "%s: output '%s' is %s, the program's %s%s", nuc_model_file(s->reference),
                     o->score->name, nuc_dtype_name(r.dtype), nuc_dtype_name(p->dtype),
                     p->dtype == NUC_I8 ? ", and the program does not give its scale" : "");
        o->reference_type = r.dtype;
    }
    o->score->info.name = o->score->name;
    o->score->is_integer = nuc_is_integer(o->program_type);
    o->score->is_quantized = nuc_runner_is_quantized_output(s->runner, i);
    s->reference_blocks[i] = nuc_alloc_array(s->cx, o->n_elements, nuc_dtype_size(o->reference_type));
}

static bool decides(const struct nuc_scored_output *o)
{
    return o->score->task == NUC_TASK_CLASSIFY || o->score->task == NUC_TASK_SEGMENT;
}

static void open_decisions(const struct nuc_scoring *s, struct nuc_scored_output *o)
{
    size_t n = nuc_decisions(&o->scores);

    o->score->n_decisions = n * s->result->n_samples;
    o->program_decisions = nuc_alloc_array(s->cx, n, sizeof *o->program_decisions);
    o->reference_decisions = nuc_alloc_array(s->cx, n, sizeof *o->reference_decisions);
    if (o->labels == NULL)
        return;
    nuc_tally_init(s->cx, &o->program, o->score->n_classes);
    nuc_tally_init(s->cx, &o->reference, o->score->n_classes);
}

/* ---- one sample ---- */

static struct nuc_disagreement decision(const struct nuc_scoring *s, const struct nuc_scored_output *o, size_t sample,
                                        size_t output, size_t i)
{
    return (struct nuc_disagreement){
        .sample = s->first + sample,
        .output = output,
        .position = i,
        .label = o->labels != NULL ? o->labels[(s->first + sample) * nuc_decisions(&o->scores) + i] : NUC_UNDECIDED,
        .reference = s->reference != NULL ? o->reference_decisions[i] : NUC_UNDECIDED,
        .program = o->program_decisions[i],
    };
}

static void decide(struct nuc_scoring *s, struct nuc_scored_output *o, size_t sample, size_t output)
{
    size_t *n_noted = &s->result->n_disagreements;

    for (size_t i = 0; i < nuc_decisions(&o->scores); i++) {
        int64_t p = nuc_decide(&o->scores, o->program_type, s->program_blocks[output], i);
        o->program_decisions[i] = p;
        o->score->n_undecided += p == NUC_UNDECIDED && !o->score->is_index;
        if (s->reference == NULL)
            continue;
        int64_t r = nuc_decide(&o->scores, o->reference_type, s->reference_blocks[output], i);
        o->reference_decisions[i] = r;
        bool agree = p == r && (p != NUC_UNDECIDED || o->score->is_index);
        o->score->n_agree += agree;
        if (!agree && *n_noted < s->options->max_disagreements) {
            s->disagreements = nuc_grow(s->cx, s->disagreements, &s->room, *n_noted + 1, sizeof *s->disagreements);
            s->result->disagreements = s->disagreements;
            s->disagreements[(*n_noted)++] = decision(s, o, sample, output, i);
        }
    }
    if (o->labels != NULL) {
        size_t n = nuc_decisions(&o->scores);
        for (size_t i = 0; i < n; i++) {
            int64_t label = o->labels[(s->first + sample) * n + i];
            if (label == s->options->ignore_label) {
                o->score->n_ignored++;
                continue;
            }
            bool top = nuc_is_in_top(&o->scores, o->program_type, s->program_blocks[output], i, label);
            nuc_tally_add(&o->program, label, o->program_decisions[i], top);
            if (s->reference == NULL)
                continue;
            top = nuc_is_in_top(&o->scores, o->reference_type, s->reference_blocks[output], i, label);
            nuc_tally_add(&o->reference, label, o->reference_decisions[i], top);
        }
    }
    if (s->options->decided != NULL) {
        for (size_t i = 0; i < nuc_decisions(&o->scores); i++) {
            const struct nuc_disagreement d = decision(s, o, sample, output, i);
            s->options->decided(s->options->decided_user, &d);
        }
    }
}

static void open_batch(struct nuc_scoring *s)
{
    const size_t n_inputs = nuc_runner_n_inputs(s->runner), n_outputs = s->result->n_outputs;
    struct nuc_tensor_info *inputs = nuc_alloc_array(s->cx, n_inputs + 1, sizeof *inputs);
    size_t bytes = 0;

    for (size_t i = 0; i < n_inputs; i++) {
        nuc_check(s->cx, nuc_runner_input(s->runner, i, &inputs[i]));
        bytes += inputs[i].bytes;
    }
    for (size_t i = 0; i < n_outputs; i++)
        bytes += s->scores[i].info.bytes;
    /* Samples that may run side by side, and no more than a few threads are busy with. */
    const size_t most = 64, n = ((size_t)1 << 24) / (bytes + 1);
    /* States and decisions are of one sample after the other. */
    s->batch = nuc_program_n_states(nuc_runner_program(s->runner)) > 0 || nuc_runner_decision(s->runner) != NULL ? 1
               : n < 1                                                                                           ? 1
               : n > most                                                                                        ? most
                                                                                                                 : n;
    s->inputs = nuc_alloc_array(s->cx, n_inputs + 1, sizeof *s->inputs);
    s->batch_inputs = nuc_alloc_array(s->cx, s->batch * n_inputs + 1, sizeof *s->batch_inputs);
    s->batch_outputs = nuc_alloc_array(s->cx, s->batch * n_outputs + 1, sizeof *s->batch_outputs);
    for (size_t k = 0; k < s->batch; k++) {
        for (size_t i = 0; i < n_inputs; i++)
            s->batch_inputs[k * n_inputs + i] = nuc_alloc(s->cx, inputs[i].bytes);
        for (size_t i = 0; i < n_outputs; i++)
            s->batch_outputs[k * n_outputs + i] = nuc_alloc(s->cx, s->scores[i].info.bytes);
    }
}

/* The program has run. */
static void judge_sample(struct nuc_scoring *s, size_t sample, const void *const *inputs, void **outputs)
{
    const double before = nuc_seconds();

    if (s->reference != NULL) {
        if (nuc_dataset_begins(s->data, sample))
            nuc_model_reset(s->reference);
        nuc_check(s->cx, nuc_model_run(s->reference, inputs, s->reference_blocks));
        s->result->reference_seconds += nuc_seconds() - before;
    }
    s->program_blocks = outputs;
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        struct nuc_scored_output *o = &s->outputs[i];
        if (s->reference != NULL)
            nuc_deviation_add(s->cx, &o->score->deviation, o->reference_type, s->reference_blocks[i], o->program_type,
                              s->program_blocks[i], o->n_elements);
        else
            nuc_deviation_count(&o->score->deviation, o->program_type, s->program_blocks[i], o->n_elements);
        if (decides(o))
            decide(s, o, sample, i);
        if (o->targets != NULL) {
            const struct nuc_array_info *a = o->targets;
            const char *targets =
                (const char *)a->data + (s->first + sample) * o->n_elements * nuc_dtype_size(a->dtype);
            nuc_deviation_add(s->cx, &o->score->program_error, a->dtype, targets, o->program_type, s->program_blocks[i],
                              o->n_elements);
            if (s->reference != NULL)
                nuc_deviation_add(s->cx, &o->score->reference_error, a->dtype, targets, o->reference_type,
                                  s->reference_blocks[i], o->n_elements);
        }
    }
    nuc_count_step(s, sample);
    nuc_count_decision(s, sample);
}

static void run_batch(struct nuc_scoring *s, size_t first, size_t count)
{
    const size_t n_inputs = nuc_runner_n_inputs(s->runner), n_outputs = s->result->n_outputs;
    const void *const *inputs = (const void *const *)s->batch_inputs;
    const double started = nuc_seconds();
    struct nuc_tensor_info t;

    /* The samples from `first` on are read. */
    for (size_t k = 0; k < count; k++) {
        nuc_check(s->cx, nuc_dataset_sample(s->data, first + k, s->inputs));
        for (size_t i = 0; i < n_inputs; i++) {
            nuc_check(s->cx, nuc_runner_input(s->runner, i, &t));
            if (t.bytes > 0)
                memcpy(s->batch_inputs[k * n_inputs + i], s->inputs[i], t.bytes);
        }
    }
    if (nuc_dataset_begins(s->data, first))
        nuc_check(s->cx, nuc_runner_reset(s->runner));
    const double before = nuc_seconds();
    nuc_check(s->cx, nuc_runner_run_batch(s->runner, count, inputs, s->batch_outputs));
    s->result->program_seconds += nuc_seconds() - before;
    for (size_t k = 0; k < count; k++)
        judge_sample(s, first + k, inputs + k * n_inputs, s->batch_outputs + k * n_outputs);
    s->result->seconds += nuc_seconds() - started;
}

/* ---- the whole ---- */

double nuc_total_sqnr(const struct nuc_evaluation *e)
{
    return nuc_sqnr_db(&(struct nuc_sqnr){e->signal, e->noise});
}

void nuc_finish_evaluation(struct nuc_evaluation *e, struct nuc_output_score *outputs)
{
    for (size_t i = 0; i < e->n_outputs; i++) {
        struct nuc_output_score *o = &outputs[i];
        nuc_deviation_finish(&o->deviation);
        nuc_deviation_finish(&o->program_error);
        nuc_deviation_finish(&o->reference_error);
        if (o->is_integer)
            continue;
        e->signal += o->deviation.signal;
        e->noise += o->deviation.n_broken != 0 ? (double)INFINITY : o->deviation.noise;
    }
}

static void finish(struct nuc_scoring *s)
{
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        struct nuc_scored_output *o = &s->outputs[i];
        size_t top = nuc_top_of(&o->scores);
        if (o->labels == NULL)
            continue;
        o->score->program_accuracy = nuc_tally_accuracy(&o->program, top);
        o->score->reference_accuracy = nuc_tally_accuracy(&o->reference, top);
    }
    nuc_finish_decisions(s);
    nuc_finish_evaluation(s->result, s->scores);
    if (s->result->shard.count != 0) /* what counts is how it is over all samples */
        return;
    if (s->data->n_calibrated_with > 0)
        nuc_warn(s->cx, "%s: has samples that calibration had: figures of new data are worse", s->data->path);
    nuc_note_doubtful_labels(s->cx, s->data->path, s->result);
    /*
     * Errors as large as the values themselves are those of another network, or of data that calibration did not have.
     */
    double sqnr = nuc_total_sqnr(s->result);
    if (s->reference != NULL && isfinite(sqnr) && sqnr < 1)
        nuc_warn(s->cx,
                 "%s: the program's outputs have nothing in common with its own (%.1f dB): is it what the program was "
                 "made of?",
                 nuc_model_file(s->reference), sqnr);
    s->result->missed = nuc_missed_gates(s->cx, s->result, s->options);
}

/* ---- classes ---- */

static struct nuc_classes known_classes(const struct nuc_scoring *s)
{
    struct nuc_classes known = {.n_names = 0};

    for (size_t i = 0; i < s->result->n_outputs; i++) {
        const struct nuc_scored_output *o = &s->outputs[i];
        const struct nuc_tensor_info *t = &o->score->info;
        size_t scores = t->rank > 1 && t->sizes[0] > 0 ? o->n_elements / (size_t)t->sizes[0] : o->n_elements;
        scores = scores == 1 ? 2 : scores;
        if (known.n_names > 0)
            break;
        known.n_names = nuc_runner_classes(s->runner, i, &known.names);
        known.most = known.n_names > 0 ? known.n_names : scores > known.most ? scores : known.most;
    }
    return known;
}

/* Names by class: the program's, else those of the folders. */
static void name_classes(struct nuc_scoring *s, const struct nuc_classes *known)
{
    const struct nuc_images *images = s->data->files;
    size_t n = known->n_names;

    s->result->n_class_names = known->n_names;
    s->result->class_names = known->names;
    if (n > 0 || images == NULL || images->classes == NULL)
        return;
    for (size_t i = 0; i < images->n_classes; i++) {
        size_t class = s->data->class_of != NULL ? s->data->class_of[i] : i;
        n = class >= n ? class + 1 : n;
    }
    const char **names = nuc_alloc_array(s->cx, n, sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = "";
    for (size_t i = 0; i < images->n_classes; i++)
        names[s->data->class_of != NULL ? s->data->class_of[i] : i] = nuc_metadata_text(s->cx, images->classes[i]);
    s->result->n_class_names = n;
    s->result->class_names = names;
}

/* From here on the data set's samples are those of the shard. */
static void take_shard(struct nuc_scoring *s)
{
    const struct nuc_shard shard = s->options->shard;
    size_t n = s->result->n_samples;

    if (shard.count == 0)
        return;
    if (shard.count > n)
        nuc_fail(s->cx, NUC_BAD_USAGE, "--shard %zu/%zu: the data set has %zu sample%s: at most as many shards",
                 shard.index, shard.count, n, n == 1 ? "" : "s");
    if (nuc_program_n_states(nuc_runner_program(s->runner)) > 0)
        nuc_fail(
            s->cx, NUC_BAD_USAGE,
            "--shard %zu/%zu: the program has states, so that a sample depends on those before it: evaluate the whole "
            "data set without --shard",
            shard.index, shard.count);
    s->result->shard = shard;
    s->result->origin = nuc_origin_of(s);
    s->first = nuc_shard_first(shard, n);
    s->data->first = s->first;
    s->data->n_samples = s->result->n_samples =
        nuc_shard_first((struct nuc_shard){shard.index + 1, shard.count}, n) - s->first;
}

static void check_options(struct nuc_context *cx, const struct nuc_evaluate_options *o)
{
    if (o->task < NUC_TASK_AUTO || o->task > NUC_TASK_REGRESS)
        nuc_fail(cx, NUC_BAD_USAGE, "--task: %d is not an enumerator: take one of evaluate.h", (int)o->task);
    if (o->class_axis < NUC_CLASS_AXIS_AUTO)
        nuc_fail(cx, NUC_BAD_USAGE, "--class-axis: %d is no axis: axes count from 0", o->class_axis);
    nuc_check_shard(cx, o);
}

static void prepare(struct nuc_scoring *s)
{
    check_options(s->cx, s->options);
    s->result = nuc_alloc(s->cx, sizeof *s->result);
    s->result->has_reference = s->reference != NULL;
    nuc_runner_suit(s->runner, s->data);
    nuc_runner_float_outputs(s->runner);
    if (s->reference != NULL)
        check_reference(s);
    nuc_check(s->cx, nuc_runner_bind(s->runner, s->data, s->reference, &s->result->n_samples));
    const struct nuc_data_lines *lines = &s->data->lines;
    s->result->n_data = lines->count;
    s->result->data = nuc_copy(s->cx, lines->items, lines->count * sizeof *lines->items);
    size_t n = nuc_runner_n_outputs(s->runner);
    struct nuc_output_score *scores = nuc_alloc_array(s->cx, n, sizeof *scores);
    if (s->reference != NULL && nuc_model_n_outputs(s->reference) != n)
        nuc_fail(s->cx, NUC_BAD_USAGE, "%s: has %zu outputs, the program %zu: give the model it was compiled from",
                 nuc_model_file(s->reference), nuc_model_n_outputs(s->reference), n);
    s->result->n_outputs = n;
    s->result->outputs = s->scores = scores;
    s->outputs = nuc_alloc_array(s->cx, n, sizeof *s->outputs);
    s->reference_blocks = nuc_alloc_array(s->cx, n, sizeof(void *));
    for (size_t i = 0; i < n; i++) {
        s->outputs[i].score = &scores[i];
        open_output(s, i);
    }
    open_batch(s);
    const struct nuc_classes known = known_classes(s);
    bool by_name = nuc_label_class_folders(s->data, &known);
    nuc_find_labels(s);
    nuc_find_tasks(s);
    if (!by_name) {
        /* Folders that are classes by their order alone are all of the classes, or nobody knows which. */
        const struct nuc_images *images = s->data->files;
        for (size_t i = 0; i < s->result->n_outputs; i++) {
            const struct nuc_output_score *o = &s->result->outputs[i];
            if (o->labels == NULL)
                continue;
            if (o->n_classes != images->n_classes)
                nuc_fail(s->cx, NUC_BAD_INPUT,
                         "%s: has folders of %zu classes, output '%s' has %zu: name them 0 to %zu, or give the program "
                         "names with compile --classes",
                         s->data->path, images->n_classes, o->name, o->n_classes, o->n_classes - 1);
            nuc_warn(s->cx, "%s: the folders are the classes 0 to %zu in the order of their names: '%.40s' to '%.40s'",
                     s->data->path, images->n_classes - 1, images->classes[0], images->classes[images->n_classes - 1]);
        }
    }
    name_classes(s, &known);
    take_shard(s);
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        if (decides(&s->outputs[i]))
            open_decisions(s, &s->outputs[i]);
    }
    nuc_open_sequences(s);
    nuc_open_decision_scores(s);
    nuc_check_gates(s->cx, s->result, s->options);
}

enum nuc_status nuc_evaluate(struct nuc_runner *program, struct nuc_dataset *data, struct nuc_model *reference,
                             const struct nuc_evaluate_options *options, const struct nuc_evaluation **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(program)), __func__, data != NULL && out != NULL);
        struct nuc_evaluate_options standard;
        nuc_evaluate_options_default(&standard);
        struct nuc_scoring s = {
            .cx = data->cx,
            .c = nuc_runner_compiler(program),
            .options = options != NULL ? options : &standard,
            .runner = program,
            .data = data,
            .reference = reference,
        };
        prepare(&s);
        nuc_progress(s.cx, "evaluate", 0, s.result->n_samples);
        for (size_t i = 0, n = s.result->n_samples; i < n;) {
            const size_t count = n - i < s.batch ? n - i : s.batch;
            run_batch(&s, i, count);
            i += count;
            nuc_progress(s.cx, "evaluate", i, n);
        }
        finish(&s);
        *out = s.result;
    }
    return nuc_leave(&call);
}
