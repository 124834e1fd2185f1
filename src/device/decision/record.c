/* Rules as a program carries them for runtimes, which read no JSON: words of 32 bits, grids, anchors. */
#include "device/decision/bind.h"

enum { VERSION = 1, HEAD = 3, GRID_WORDS = 4 }; /* HEAD: version, kind, flags */

/* Members of words, as they follow the head. */
#define MEMBER(member)                                                                                                 \
    {                                                                                                                  \
        offsetof(struct nuc_decision_rule, member), sizeof(((struct nuc_decision_rule *)0)->member)                    \
    }
static const struct {
    uint16_t at, bytes;
} members[] = {
    MEMBER(n_views),   MEMBER(views[0].output), MEMBER(views[1].output),
    MEMBER(form),      MEMBER(activation),      MEMBER(threshold),
    MEMBER(smoothing), MEMBER(alpha),           MEMBER(window),
    MEMBER(release),   MEMBER(minimum_count),   MEMBER(refractory_steps),
    MEMBER(n_ignored), MEMBER(ignored),         MEMBER(step_seconds),
    MEMBER(iou),       MEMBER(candidates),      MEMBER(maximum),
    MEMBER(coding),    MEMBER(input_size),      MEMBER(bins),
    MEMBER(rows),      MEMBER(columns),         MEMBER(points),
    MEMBER(quantile),  MEMBER(n_grids),
};

/* A bit each of the word `flags`. */
static const uint16_t flags[] = {
    offsetof(struct nuc_decision_rule, agnostic),   offsetof(struct nuc_decision_rule, has_background),
    offsetof(struct nuc_decision_rule, is_y_first), offsetof(struct nuc_decision_rule, is_exponential),
    offsetof(struct nuc_decision_rule, is_decoded), offsetof(struct nuc_decision_rule, is_refined),
};

#define N_MEMBERS (sizeof members / sizeof members[0])
#define N_FLAGS (sizeof flags / sizeof flags[0])

static size_t head_bytes(void)
{
    size_t bytes = HEAD * sizeof(uint32_t);

    for (size_t i = 0; i < N_MEMBERS; i++)
        bytes += members[i].bytes;
    return bytes;
}

size_t nuc_decision_bytes(const struct nuc_decision_rule *d)
{
    const size_t floats = nuc_decision_has_anchors(d) ? nuc_decision_anchor_floats(d) : 0;

    return head_bytes() + (GRID_WORDS * (size_t)d->n_grids + floats) * sizeof(uint32_t);
}

static uint8_t *store_words(uint8_t *to, const void *words, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        uint32_t word;
        __builtin_memcpy(&word, (const uint8_t *)words + i, sizeof word);
        nuc_store_u32(to + i, word);
    }
    return to + bytes;
}

void nuc_decision_store(const struct nuc_decision_rule *d, uint8_t *bytes)
{
    uint32_t head[HEAD] = {VERSION, (uint32_t)d->kind, 0};

    for (size_t i = 0; i < N_FLAGS; i++)
        head[2] |= (uint32_t) * ((const bool *)((const uint8_t *)d + flags[i])) << i;
    bytes = store_words(bytes, head, sizeof head);
    for (size_t i = 0; i < N_MEMBERS; i++)
        bytes = store_words(bytes, (const uint8_t *)d + members[i].at, members[i].bytes);
    bytes = store_words(bytes, d->grids, d->n_grids * sizeof *d->grids);
    if (nuc_decision_has_anchors(d))
        store_words(bytes, d->anchors, nuc_decision_anchor_floats(d) * sizeof *d->anchors);
}

/* ---- reading ---- */

static bool is_in(uint32_t value, uint32_t least, uint32_t most)
{
    return value >= least && value <= most;
}

/* How many forms a kind has. */
static uint32_t forms_of(const struct nuc_decision_rule *d)
{
    return d->kind == NUC_DECIDE_BOXES ? 4 : d->kind == NUC_DECIDE_CLASSES ? 1 : 2;
}

/* What the decisions count on, whatever the outputs are. */
static bool is_sound(const struct nuc_decision_rule *d)
{
    const bool is_ssd = d->kind == NUC_DECIDE_BOXES && d->form == NUC_BOXES_SSD;
    const bool may_two = d->kind == NUC_DECIDE_KEYPOINTS && d->form == NUC_POINTS_HEATMAP;
    const bool is_map = may_two || (d->kind == NUC_DECIDE_BOXES && d->form == NUC_BOXES_FOMO);

    if ((uint32_t)d->form >= forms_of(d) || !is_in(d->n_views, is_ssd ? 2 : 1, is_ssd || may_two ? 2 : 1) ||
        (uint32_t)d->activation > NUC_SCORE_SOFTMAX || (uint32_t)d->smoothing > NUC_SMOOTH_AVERAGE ||
        d->n_ignored > NUC_DECISION_IGNORED || d->views[0].output >= NUC_DECISION_OUTPUTS ||
        d->views[1].output >= NUC_DECISION_OUTPUTS)
        return false;
    if (d->kind == NUC_DECIDE_CLASSES)
        return is_in(d->window, 1, 1024);
    if (is_map && !(is_in(d->rows, 1, 4096) && is_in(d->columns, 1, 4096)))
        return false;
    if (d->kind == NUC_DECIDE_KEYPOINTS)
        return is_in(d->points, 1, 1024);
    return d->kind != NUC_DECIDE_BOXES || (is_in(d->candidates, 1, 1024) && is_in(d->maximum, 1, d->candidates) &&
                                           (d->form != NUC_BOXES_YOLO8 || is_in(d->bins, 1, 64)));
}

/* The pairs of a grid follow those of the one before. */
static bool are_sound(const struct nuc_decision_rule *d)
{
    uint32_t first = 0;

    if (d->n_grids == 0)
        return d->form == NUC_BOXES_SSD && is_in(d->rows, 1, 1 << 20);
    for (uint32_t i = 0; i < d->n_grids; i++) {
        const struct nuc_anchor_grid *g = &d->grids[i];
        if (!is_in(g->rows, 1, 4096) || !is_in(g->columns, 1, 4096) || g->first != first || g->count > 64 ||
            (g->count == 0) != (d->form == NUC_BOXES_YOLO8))
            return false;
        first += g->count;
    }
    return true;
}

/* Grids and anchors lie in the record. */
static bool load_anchors(struct nuc_decision_rule *d, struct nuc_span rest)
{
    const size_t grids = (size_t)d->n_grids * sizeof *d->grids;

    if (!nuc_decision_has_anchors(d))
        return d->n_grids == 0 && rest.size == 0;
    if (d->n_grids > 16 || grids > rest.size)
        return false;
    d->grids = (const struct nuc_anchor_grid *)(const void *)rest.data;
    d->anchors = (const float *)(const void *)(rest.data + grids);
    return are_sound(d) && rest.size - grids == nuc_decision_anchor_floats(d) * sizeof *d->anchors;
}

bool nuc_decision_load(struct nuc_decision_rule *d, struct nuc_span bytes)
{
    const size_t head = head_bytes();
    const uint8_t *at = bytes.data + HEAD * sizeof(uint32_t);

    *d = (struct nuc_decision_rule){.n_views = 0};
    if (bytes.size < head || (uintptr_t)bytes.data % sizeof(uint32_t) != 0 || nuc_load_u32(bytes.data) != VERSION ||
        nuc_load_u32(bytes.data + 4) > NUC_DECIDE_ANOMALY)
        return false;
    d->kind = (enum nuc_decision_kind)nuc_load_u32(bytes.data + 4);
    for (size_t i = 0; i < N_FLAGS; i++)
        *(bool *)((uint8_t *)d + flags[i]) = (nuc_load_u32(bytes.data + 8) >> i & 1) != 0;
    for (size_t i = 0; i < N_MEMBERS; at += members[i++].bytes) {
        for (size_t k = 0; k < members[i].bytes; k += sizeof(uint32_t)) {
            const uint32_t word = nuc_load_u32(at + k);
            __builtin_memcpy((uint8_t *)d + members[i].at + k, &word, sizeof word);
        }
    }
    return is_sound(d) && load_anchors(d, (struct nuc_span){at, bytes.size - head});
}
