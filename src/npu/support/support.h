/*
 * What the NPU and its converter can run: for each Edge operator rows of rules, each a sentence that has to hold and a
 * predicate. The partitioner asks them, the lowering asserts them, reports and documentation print them.
 *
 * A node passes three gates: format (operators that need channels-first data have it), ir (the operator with these
 * arguments exists in the converter's input), target (element types, static weights, sizes). Once partitions are
 * proposed, partition rules refuse operators that would vanish in the partition they are in.
 */
#ifndef NUC_NPU_SUPPORT_SUPPORT_H
#define NUC_NPU_SUPPORT_SUPPORT_H

#include "ir/graph.h"
#include "npu/target/target.h"

/* Texts are static or live in the arena that was current; `actual` and `limit` are "" when there is nothing to add. */
struct nuc_verdict {
    bool ok;
    const char *rule;   /* the sentence that had to hold; NULL when ok */
    const char *actual; /* what was found */
    const char *limit;  /* what is allowed */
};

/* The rule of operators that the NPU does not have: `actual` is then what people call the operator, "layer norm". */
extern const char nuc_has_operator_rule[];

/* What people call an operator of the Edge dialect: "layer norm", "sort". */
const char *nuc_operator_noun(struct nuc_context *cx, enum nuc_op op);

/* Partitions as proposed, for the rules about them. */
struct nuc_partition_view {
    const int32_t *of;         /* by node id: index of the node's partition, -1: none */
    const uint32_t *n_compute; /* by partition: nodes that are neither quantize nor dequantize */
};

/* Rules that are not asked, by the options of a partitioner. */
enum nuc_waiver {
    NUC_WAIVE_CAT_SIZES = 1, /* sdk-3.1: a concatenation of any sizes (--force-delegate-cat) */
    /* sdk-3.1: what its backend accepts although the result is wrong or nothing here computes it (--reference-compat)
     */
    NUC_WAIVE_CORRECTNESS = 2,
    NUC_WAIVE_ALL = NUC_WAIVE_CAT_SIZES | NUC_WAIVE_CORRECTNESS,
    NUC_WAIVE_QUANTIZATION = 4 /* of a graph in which nothing is quantized yet */
};

/*
 * Norms that the NPU computes in parts: with few of them, as finely as int8 can, or so for rows whose deviations differ
 * by decades; and softmaxes of long rows.
 */
enum nuc_norm_form { NUC_NORM_WHOLE, NUC_NORM_SHORT, NUC_NORM_FINE, NUC_NORM_WIDE };

struct nuc_norms {
    bool softmax_in_parts;
    bool centred; /* by nuc_centre_rows() */
    enum nuc_norm_form form;
    uint32_t n_others; /* nodes that have another one: */
    struct nuc_norm_of {
        const char *name;
        enum nuc_norm_form form;
        double least; /* sum of squares of a row where others are empty and eps tells nothing of them; 0: none is */
    } * others;
};

struct nuc_formulas;

struct nuc_support {
    struct nuc_graph *g;
    const struct nuc_target *target;
    const struct nuc_flavor *flavor;
    bool divides_in_int8;          /* the CPU computes a quotient in int8 also where float keeps more digits */
    const struct nuc_norms *norms; /* NULL: all whole */
    struct nuc_formulas *formulas; /* what forms of operators are built by (rewrite/npu_forms); NULL elsewhere */
    const struct nuc_partition_view *partitions; /* NULL outside partition rules */
    uint32_t waived;                             /* NUC_WAIVE_ flags */
};

/* What a rule is asked. */
struct nuc_rule_query {
    const struct nuc_support *s;
    const struct nuc_node *node;
    uint32_t param;              /* of the rule's row */
    struct nuc_verdict *verdict; /* a rule that does not hold may set `actual` and `limit` */
};

/* What a limit bounds: each of `n` numbers, or their product. */
struct nuc_extent {
    uint32_t n; /* 0: there is nothing to bound */
    bool product;
    int64_t of[3];
};

/*
 * A rule has a predicate; a limit measures something instead and names the target's int64_t that bounds it. Either says
 * in one row what has to hold.
 */
struct nuc_support_rule {
    const char *text; /* NULL ends a list */
    bool (*holds)(const struct nuc_rule_query *q);
    uint32_t param;
    uint32_t waived_by; /* NUC_WAIVE_ flags */
    struct nuc_extent (*measure)(const struct nuc_rule_query *q);
    size_t limit; /* offset in struct nuc_target */
};

enum nuc_no_op {
    NUC_NEVER_NO_OP,
    NUC_NO_OP_BY_TRIAL,
    NUC_NO_OP_OF_ONE, /* when its list of tensors has one element */
    NUC_ALWAYS_NO_OP
};

/* One row for operators with the same rules. */
struct nuc_support_row {
    const enum nuc_op *ops; /* NUC_OPS(); NULL ends a list of rows */
    bool channels_first;    /* node and first input must be CHANNELS_FIRST */
    enum nuc_no_op no_op;
    const struct nuc_support_rule *ir, *target, *partition; /* NULL: no rules */
};

/* Row of an operator in the rule set of the flavor; NULL: the NPU does not have it. A target of NULL stands for any. */
const struct nuc_support_row *nuc_support_row(const struct nuc_support *s, enum nuc_op op);

enum nuc_no_op nuc_no_op_kind(const struct nuc_support *s, enum nuc_op op);

struct nuc_verdict nuc_check_format(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_verdict nuc_check_ir(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_verdict nuc_check_target(const struct nuc_support *s, const struct nuc_node *node);

/* All three, format first; also false for an operator without a row. */
struct nuc_verdict nuc_check_support(const struct nuc_support *s, const struct nuc_node *node);

/*
 * What can be asked before anything is quantized: the rules of the operator `as`, but for those about types, scales and
 * quantize nodes, for a node that has its arguments in the same places.
 */
struct nuc_verdict nuc_check_unquantized(const struct nuc_support *s, enum nuc_op as, const struct nuc_node *node);

/*
 * Rules about the quantize nodes after the operator that the reference does not ask in time: all make the same of the
 * result, and of a value that is only moved what it was.
 */
struct nuc_verdict nuc_check_parameters(const struct nuc_support *s, const struct nuc_node *node);

/* The rules about the partition the node is in; s->partitions is set. */
struct nuc_verdict nuc_check_partition(const struct nuc_support *s, const struct nuc_node *node);

/* LiteRT's TRANSPOSE takes tensors up to this rank. */
#define NUC_MAX_TRANSPOSE_RANK 6

/*
 * The NPU transposes a tensor of these sizes: out[i] = in[perm[i]]. Without a kernel for it only when the order of the
 * data stays. In rule set sdk-3.1 also when two groups of dimensions, multiples of num_macs, change places like the
 * axes of a matrix.
 */
bool nuc_can_transpose(const struct nuc_target *target, const struct nuc_flavor *flavor, const int32_t *sizes,
                       const int32_t *perm, uint32_t rank);

/*
 * The node leaves its data as they are: an operator that only changes the view of them, or one that a trial run on
 * its constants and arbitrary data shows to return its input.
 */
bool nuc_is_no_op(const struct nuc_support *s, const struct nuc_node *node);

#endif
