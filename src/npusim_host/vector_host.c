/* The host's side of a prepared program: a plan for each call that has one. */
#include <stdlib.h>
#include <unistd.h>

#include "device/base/span.h"
#include "device/npusim/npu_host.h"
#include "npusim_host/vector_call.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#define CPU_HAS_ASIMDDP (1UL << 20) /* HWCAP_ASIMDDP */
#endif

/* Padding makes packed weights larger; a program that refers to its weights again and again shall not fill memory. */
#define BUDGET_FLOOR ((uint64_t)1 << 26)
#define BUDGET_FACTOR 32
#define MOST_PROOFS 64 /* of additions, a fraction of a millisecond each */

struct npu_host {
    struct vec_machine machine;
    uint32_t n_calls, threads; /* threads: that are asked for */
    bool always, borrows;      /* borrows: plans and records are another's */
    struct vec_plan **plans;
    union nuc_mc_record *records; /* their fields: reading them takes as long as a small call */
    struct vec_budget budget;
    int64_t steps; /* of calls that may be split */
};

bool npu_host_has(enum nuc_simulator_path path)
{
#if defined(__x86_64__)
    if (path == NUC_SIMULATOR_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (path == NUC_SIMULATOR_AVX512_VNNI)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__) && defined(__linux__)
    if (path == NUC_SIMULATOR_NEON_DOT)
        return (getauxval(AT_HWCAP) & CPU_HAS_ASIMDDP) != 0;
#endif
    return path == NUC_SIMULATOR_PLAIN;
}

static const struct vec_isa *isa_of(enum nuc_simulator_path path)
{
    static const struct vec_isa *const isas[NUC_SIMULATOR_PATH_COUNT] = {
#if defined(__x86_64__)
        [NUC_SIMULATOR_AVX2] = &vec_isa_avx2,
        [NUC_SIMULATOR_AVX512_VNNI] = &vec_isa_avx512vnni,
#elif defined(__aarch64__)
        [NUC_SIMULATOR_NEON_DOT] = &vec_isa_neondot,
#else
        NULL
#endif
    };

    return isas[path];
}

enum nuc_simulator_path npu_host_best(void)
{
    static const enum nuc_simulator_path best_first[] = {NUC_SIMULATOR_AVX512_VNNI, NUC_SIMULATOR_AVX2,
                                                         NUC_SIMULATOR_NEON_DOT};

    for (size_t i = 0; i < sizeof best_first / sizeof *best_first; i++) {
        if (npu_host_has(best_first[i]))
            return best_first[i];
    }
    return NUC_SIMULATOR_PLAIN;
}

static const struct row {
    vec_planner *plan;
    vec_run *run; /* of calls that need no plan */
    bool two;     /* operands */
} rows[NUC_MC_OPCODE_COUNT] = {
    [NUC_MC_OP_CONV_2D] = {.plan = vec_plan_conv},
    [NUC_MC_OP_DEPTHWISE_CONV_2D] = {.plan = vec_plan_depthwise},
    [NUC_MC_OP_TRANSPOSE_CONV] = {.plan = vec_plan_transposed},
    [NUC_MC_OP_FULLY_CONNECTED] = {.plan = vec_plan_matmul, .two = true},
    [NUC_MC_OP_BATCH_MATMUL] = {.plan = vec_plan_matmul, .two = true},
    [NUC_MC_OP_ADD] = {.plan = vec_plan_binary, .two = true},
    [NUC_MC_OP_SUB] = {.plan = vec_plan_binary, .two = true},
    [NUC_MC_OP_MUL] = {.plan = vec_plan_binary, .two = true},
    [NUC_MC_OP_PRELU] = {.plan = vec_plan_binary, .two = true},
    [NUC_MC_OP_MAXIMUM] = {.plan = vec_plan_binary, .two = true},
    [NUC_MC_OP_MINIMUM] = {.plan = vec_plan_binary, .two = true},
    [NUC_MC_OP_SOFTMAX] = {.plan = vec_plan_softmax},
    [NUC_MC_OP_RESIZE_BILINEAR] = {.plan = vec_plan_resize},
    [NUC_MC_OP_AVERAGE_POOL_2D] = {.run = vec_run_pool},
    [NUC_MC_OP_MAX_POOL_2D] = {.run = vec_run_pool},
    [NUC_MC_OP_MEAN] = {.run = vec_run_reduce},
    [NUC_MC_OP_SUM] = {.run = vec_run_reduce},
    [NUC_MC_OP_GATHER] = {.run = vec_run_gather},
    [NUC_MC_OP_LUT] = {.run = vec_run_table},
    [NUC_MC_OP_COPY] = {.run = vec_run_copy},
};

bool npu_host_plan(struct npu_host *h, uint32_t index, const struct nuc_npu *npu, const union nuc_mc_record *r)
{
    vec_planner *planner = rows[nuc_mc_opcode_of(&r->call)].plan;
    struct vec_plan *plan = planner ? planner(h->machine.isa, npu, r, &h->budget) : NULL;

    h->records[index] = *r;
    h->plans[index] = plan;
    if (!plan)
        return false;
    h->steps += vec_plan_steps(plan);
    if (plan->scratch > h->machine.scratch_size)
        h->machine.scratch_size = plan->scratch;
    return true;
}

/* Threads that a program of `steps` gains from: of those asked for as many as there are cores, or the caller alone. */
static uint32_t threads_for(uint32_t asked, int64_t steps, int64_t cores)
{
    if (steps < VEC_STEPS_PROGRAM || cores < 2)
        return 1;
    return asked < cores ? asked : (uint32_t)cores;
}

bool npu_host_ready(struct npu_host *h)
{
    int64_t cores = h->threads > 1 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    uint32_t threads = h->always ? h->threads : threads_for(h->threads, h->steps, cores);

    if (threads > 1 && !h->machine.threads) {
        h->machine.threads = nuc_threads_new(threads, threads <= cores);
        if (!h->machine.threads)
            return false;
    }
    free(h->machine.scratch);
    h->machine.scratch_size = nuc_align_up(h->machine.scratch_size + 1, VEC_ALIGNMENT);
    h->machine.scratch = aligned_alloc(VEC_ALIGNMENT, h->machine.scratch_size * threads);
    return h->machine.scratch != NULL;
}

struct npu_host *npu_host_new(uint32_t n_calls, uint64_t weights, enum nuc_simulator_path path, uint32_t threads,
                              bool always)
{
    struct npu_host *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->machine.isa = isa_of(path);
    h->machine.least = always ? 0 : VEC_STEPS_SPLIT;
    h->n_calls = n_calls;
    h->threads = threads;
    h->always = always;
    h->budget = (struct vec_budget){BUDGET_FLOOR + weights * BUDGET_FACTOR, MOST_PROOFS};
    h->plans = calloc((size_t)n_calls + 1, sizeof *h->plans);
    h->records = calloc((size_t)n_calls + 1, sizeof *h->records);
    if (h->plans && h->records)
        return h;
    npu_host_close(h);
    return NULL;
}

struct npu_host *npu_host_share(const struct npu_host *from)
{
    struct npu_host *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    *h = *from;
    h->machine.threads = NULL;
    h->machine.scratch = NULL;
    h->threads = 1;
    h->borrows = true;
    if (npu_host_ready(h))
        return h;
    npu_host_close(h);
    return NULL;
}

struct npu_host *npu_host_open(const struct nuc_npu *npu, enum nuc_simulator_path path, uint32_t threads, bool always)
{
    struct npu_host *h = npu_host_new(npu->n_calls, npu->weights_size, path, threads, always);
    const uint8_t *at = npu->calls;

    for (uint32_t i = 0; h && i < npu->n_calls; i++) {
        union nuc_mc_record r;
        nuc_mc_load(at, &r);
        at += (size_t)r.call.words * 4;
        npu_host_plan(h, i, npu, &r);
    }
    if (h && npu_host_ready(h))
        return h;
    npu_host_close(h);
    return NULL;
}

void npu_host_close(struct npu_host *h)
{
    if (!h)
        return;
    nuc_threads_free(h->machine.threads);
    for (uint32_t i = 0; !h->borrows && h->plans && i < h->n_calls; i++)
        vec_plan_free(h->plans[i]);
    if (!h->borrows) {
        free(h->plans);
        free(h->records);
    }
    free(h->machine.scratch);
    free(h);
}

enum nuc_simulator_path npu_host_path(const struct npu_host *h)
{
    return h->machine.isa->path;
}

const union nuc_mc_record *npu_host_record(const struct npu_host *h, uint32_t index)
{
    return &h->records[index];
}

/* The operands of all records are their first fields, their results behind them. */
bool npu_host_call(struct npu_host *h, uint32_t index, const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct row *row = &rows[nuc_mc_opcode_of(&r->call)];
    const struct vec_plan *plan = h->plans[index];
    vec_run *run = plan ? plan->run : row->run;
    struct vec_call c = {.v = &h->machine, .plan = plan, .m = m, .r = r};

    if (!run)
        return false;
    c.in = npu_source_i8(m, r->conv.input);
    c.out = npu_target_i8(m, row->two ? r->matmul.output : r->conv.output);
    return run(&c);
}

void npu_host_table(struct npu_host *h, const struct nuc_npu_memory *m, const struct nuc_mc_result *result,
                    struct nuc_mc_ref table)
{
    vec_run_last_table(&h->machine, result, npu_source_i8(m, table), npu_target_i8(m, result->output));
}
